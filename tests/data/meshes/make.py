"""Writes the meshes of this folder with Gmsh (pip install gmsh): python make.py

hex8.msh: two layers of a box of 2000 x 1500 m, 1000 m deep, as text; hex27.msh: the same of order 2, binary;
quad4.msh: a plate of two groups, as text; quad9.msh: the same of order 2, binary. hex8-v2.msh and quad9-v2.msh are
hex8.msh, as text, and quad9.msh, binary, in version 2.2.
"""
import gmsh


def save(name, dimension, order, binary, version=4.1):
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    gmsh.option.setNumber("Mesh.MshFileVersion", version)
    gmsh.option.setNumber("Mesh.Binary", binary)
    gmsh.option.setNumber("Mesh.RecombineAll", 1)
    gmsh.option.setNumber("Mesh.ElementOrder", order)
    gmsh.option.setNumber("Mesh.SecondOrderIncomplete", 0)
    geo = gmsh.model.geo
    a = geo.addPoint(0, 0, -1000)
    b = geo.addPoint(2000, 0, -1000)
    line = geo.addLine(a, b)
    geo.mesh.setTransfiniteCurve(line, 5)
    if dimension == 3:
        base = geo.extrude([(1, line)], 0, 1500, 0, [3], recombine=True)[1][1]
        low = geo.extrude([(2, base)], 0, 0, 600, [2], recombine=True)
        high = geo.extrude([low[0]], 0, 0, 400, [2], recombine=True)
    else:
        base = line
        low = geo.extrude([(1, line)], 0, 0, 600, [2], recombine=True)
        high = geo.extrude([low[0]], 0, 0, 400, [2], recombine=True)
    geo.synchronize()
    d = dimension - 1
    gmsh.model.addPhysicalGroup(dimension, [low[1][1]], 7, "rock")
    gmsh.model.addPhysicalGroup(dimension, [high[1][1]], 3, "soil")
    gmsh.model.addPhysicalGroup(d, [high[0][1]], 11, "top")
    gmsh.model.addPhysicalGroup(d, [base], 12, "bottom")
    gmsh.model.addPhysicalGroup(d, [low[2][1], high[2][1]], 13, "a side")
    gmsh.model.addPhysicalGroup(d, [low[3][1], high[3][1]], 14, "xmax")
    gmsh.model.mesh.generate(dimension)
    gmsh.write(name)
    gmsh.finalize()


save("hex8.msh", 3, 1, 0)
save("hex27.msh", 3, 2, 1)
save("quad4.msh", 2, 1, 0)
save("quad9.msh", 2, 2, 1)
save("hex8-v2.msh", 3, 1, 0, 2.2)
save("quad9-v2.msh", 2, 2, 1, 2.2)
