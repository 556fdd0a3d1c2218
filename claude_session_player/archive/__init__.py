"""Care for stores: what is wrong with sessions, which are in use, keeping them in an archive, and cleaning up."""
