"""What the top SConstruct does beside calling cargo: names of programs, installation, sfdoc, the book."""
