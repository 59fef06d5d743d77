"""What the top SConstruct does in addition to calling cargo: names of programs, installation, sfdoc, the book."""
