"""The stores of sessions on disk: the only room that looks into them. Nothing here writes below one."""
