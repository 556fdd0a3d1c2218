"""Names that say nothing about a person or a machine, and names that are words, too."""

from __future__ import annotations

import re
from typing import Final

_MASKED: Final = re.compile(
    r"(?:user|host|person|owner|group|account|organization|ip|mac|environment|cloud-session)-\d+"
    r"(?:@example\.com)?",
    re.IGNORECASE,
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GENERIC_USERS: Final = _words(
    """
    user users username usr root ubuntu debian fedora centos alpine arch kali admin administrator node nodejs runner
    runneradmin vscode codespace codespaces ec2-user app apps appuser application www www-data nobody nogroup postgres
    mysql redis nginx claude coder code dev developer develop test tests tester testing guest default public shared me
    you yours myself yourname your_name yourusername your-username your-user myuser my_user myname someone somebody
    name foo bar baz example examples sample demo placeholder anonymous unknown daemon bin sys sync system operator
    staff wheel everyone nixbld nixbld1 linuxbrew homebrew brew vagrant docker container containers jovyan gitpod
    circleci travis jenkins buildbot build builder builduser ci git github gitlab-runner gitlab actions azureuser
    vsts_azpipelinescontainer opc pi worker service services server daemonuser nonroot rootless sandbox agent model
    oai openai anthropic bot host person owner group account organization environment ip mac device path to dir folder
    file home project projects workspace workspaces work data tmp temp var opt local lib etc src mnt srv all none null
    nil true false undefined any other others current target old new x y xx xxx xxxx abc user-name user_name userid
    uid login logname somename someuser some-user some_user your-name your_username youruser your_user defaultuser
    defaultuser0 defaultapppool wdagutilityaccount lost+found localuser superuser sudo tty disk kmem mail news man
    games backup lp uucp proxy messagebus systemd-network systemd-resolve _spotlight _www uid1000 replit replit-user
    trusted trustedinstaller nt interactive deploy deployer ftp ssh sshd hdfs spark hadoop airflow celery odoo rails
    newuser olduser otheruser django flask python java ruby go rust cargo deno bun npm yarn web webapp api client
    """
)
"""Users, groups and placeholders that many machines and documents have; in lower case."""

_NAMES: Final = _words(
    """
    max mark will art rob grant bill frank may june april august jack pat sue drew chase chance hunter mason carter
    cooper parker taylor jordan robin dawn eve joy ray rich nick dick gene guy dean dale glen cliff clay ruby pearl
    crystal amber jade sky iris ivy lily daisy violet olive basil rusty sandy stone rose grace hope faith mercy
    summer autumn winter heath forest river lake page case dot kit sam red gray grey brown black white green blue
    tango bravo victor oscar mike lima romeo juliet sierra whiskey hotel india kilo foxtrot golf charlie
    """
)
"""Names of people that are words, too."""

_PAGES: Final = _words(
    """
    main master index build release debug info error warn log logs core base model view state type text list item
    items table field value values key keys string number object array function class method module package import
    export return print read write open close start stop run exec load save send post put get patch head delete
    update create insert select query find search filter sort order limit offset count total size length width
    height color image video audio media asset assets config settings setup script scripts style styles theme themes
    content context session message messages event events task tasks job jobs queue store cache memory disk network
    socket port address link links route routes router path paths query param params option options flag flags
    dashboard profile about contact help support privacy terms feed news blog docs doc document documents download
    downloads desktop library pictures music movies video videos header footer sidebar navbar layout hero welcome
    landing home-page homepage screen tab tabs menu card cards button form modal notifications inbox analytics
    overview stats status health metrics monitor admin-panel checkout cart shop product products category categories
    order orders account accounts billing pricing plan plans team teams member members role roles invite signup
    signin signout register logout password reset verify confirm search results explore trending favorites history
    linux macos darwin windows win chrome edge opera safari firefox swift kotlin scala julia dart perl elixir pug vue
    react angular svelte spring mongo kafka word words line lines time date day night year month hour second minute
    first last next prev left right top bottom front back high low fast slow big small long short good bad true
    production prod staging stage local remote primary secondary replica alpha beta gamma delta omega sigma echo
    utils util helpers components component hooks shared-components
    hash tag branch commit merge rebase push pull fetch clone origin upstream head fork issue issues review
    """
)
"""Words of English and of programs that are names of machines and of pages of a site, too."""

GENERIC_HOSTS: Final = _words(
    """
    localhost localhost.localdomain localdomain ip6-localhost broadcasthost host hostname host.docker.internal server
    server1 yourserver your-server your-host myhost my-host remote remote-host remotehost example test local internal
    domain machine box vm docker container ubuntu debian fedora centos alpine arch kali raspberrypi runner
    buildkitsandbox docker-desktop workspace file link patch npm portal git latest next beta alpha canary main master
    github.com gitlab.com bitbucket.org ssh.github.com altssh.gitlab.com ssh.dev.azure.com codeberg.org gitea.com
    sr.ht huggingface.co hf.co heroku.com kubernetes kubernetes.docker.internal metadata.google.internal
    gateway.docker.internal host.containers.internal svc.cluster.local cluster.local string none null undefined true
    false your your-server.com server.com host.com hostname.com unknown default web db api app proxy node cluster
    kernel version
    """
)
"""Names that many machines have, and machines that are everybody's; in lower case."""

SERVICE_MAILBOXES: Final = _words(
    """
    noreply no-reply no_reply donotreply do-not-reply git hg svn notifications notification mailer-daemon
    postmaster github-actions actions dependabot renovate bot security-noreply
    """
)
"""Mailboxes behind which is no person."""

EXTENSIONS: Final = _words(
    """
    py pyi js jsx ts tsx mjs cjs json jsonl md mdx txt html htm css scss sass less png jpg jpeg gif svg webp ico pdf
    sh bash zsh fish rb go rs java kt swift c h cc cpp hpp cs php vue svelte toml yaml yml xml ini cfg conf lock log
    sql csv tsv zip tar gz tgz bz2 xz whl exe dll so dylib wasm map snap test spec bak orig tmp patch diff service
    timer socket target mount slice scope local internal lan corp fixture param mark property setter getter
    """
)
"""What follows the last dot in names of files and of attributes, and not in e-mail addresses."""


def is_mask(name: str) -> bool:
    """True for what stands in masked texts.

    >>> is_mask("user-1"), is_mask("user-name")
    (True, False)
    """
    return _MASKED.fullmatch(name) is not None


def is_generic_user(name: str) -> bool:
    """True if a user name or group says nothing about a person.

    >>> is_generic_user("root"), is_generic_user("user2"), is_generic_user("alice")
    (True, True, False)
    """
    folded = name.lower()
    return (
        len(name) < 2
        or folded.rstrip("0123456789") in ("", "user", "test", "testuser", "test-user", "test_user", "uid", "runner")
        or folded in GENERIC_USERS
        or folded.startswith(("_", "your-", "your_", "systemd-"))
        or not any(char.isalpha() for char in name)
        or is_mask(name)
    )


def is_word(name: str) -> bool:
    """True for names that are found in texts that are not about a person: they are masked only where the place tells.

    >>> is_word("mark"), is_word("al"), is_word("cafe"), is_word("alice")
    (True, True, True, False)
    """
    folded = name.lower()
    is_hex = len(name) <= 6 and all(char in "0123456789abcdef" for char in folded)
    return len(name) <= 3 or is_hex or folded in _NAMES or folded in _PAGES or folded in GENERIC_USERS


def is_page(name: str) -> bool:
    """True for what stands after `/home/` in the addresses of a site.

    >>> is_page("settings"), is_page("max")
    (True, False)
    """
    return name.lower() in _PAGES
