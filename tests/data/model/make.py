#!/usr/bin/env python3
"""Makes the fixtures of this folder: make.py GOLDEN_DIR

GOLDEN_DIR holds the inputs, the outputs and the manifest.json of runs of sfewefd2d_omp and sfewefd3d_omp
(Madagascar 4.3-git). Needs numpy. README.md describes the output.
"""
import json, os, re, struct, sys
import numpy as np

STEP = 1e-6
SCALE = dict(ro=2, vp=2, vs=1, nu=57)                 # of one STEP; the others 0.5
CASES = """
omp2d-iso-sn-fn-dn omp2d-iso-sy-fn-dy omp2d-iso-sn-fy-dy omp2d-iso-sy-fy-dn omp2d-vti-sn-fn-dy omp2d-vti-sy-fy-dy
omp2d-tti-sn-fn-dy omp2d-tti-sy-fn-dy omp2d-opot omp2d-2sources-nbell3 omp2d-jdata7 omp2d-surface-recv omp2d-nb0-nabc
omp2d-defaultwindow
omp3d-iso-sn-fn-dn omp3d-iso-sy-fy-dy omp3d-vti-sy-fn-dy omp3d-ort-sn-fn-dy
omp3d-ort-sn-fy-dy omp3d-hti-sn-fn-dy omp3d-hti-sy-fn-dy omp3d-opot omp3d-2sources
""".split()

gold = sys.argv[1]
here = os.path.dirname(os.path.abspath(__file__))

def header(name):
    """Keys of a header; the last one with a name is used."""
    text = open(os.path.join(gold, name + '.rsf'), 'rb').read().decode('latin-1')
    return {k: v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|\S+)', text)}

def sizes(h):
    n = [int(h.get(f'n{i}', 1)) for i in range(1, 10)]
    while len(n) > 1 and n[-1] == 1:
        n.pop()
    return n

def load(name):
    """Values of a dataset, slowest axis first."""
    values = np.fromfile(os.path.join(gold, name + '.rsf@'), '<f4')
    n = sizes(header(name))
    if name.endswith('.dat'):
        n[2] = values.size // (n[0] * n[1])               # more records than the header says: jdata
    return values.reshape(n[::-1]).astype('f8')

def axes(h, rank):
    return [[int(h[f'n{i}']), float(h[f'o{i}']), float(h[f'd{i}']), h.get(f'label{i}', ''), h.get(f'unit{i}', '')]
            for i in range(1, rank + 1)]

def thomsen(c11, c33, c55, c13):
    return (c11 / c33 - 1) / 2, ((c13 + c55)**2 - (c33 - c55)**2) / (2 * c33 * (c33 - c55))

def fields_2d():
    ro, c, t = load('ro2'), load('vti2'), load('tti2')
    epsilon, delta = thomsen(*c)
    nu = np.degrees(np.arccos(np.clip((t[0] - t[1]) / (c[0] - c[1]), -1, 1)) / 2) * np.pi / 3.1415
    return dict(ro=ro, vp=np.sqrt(c[1] / ro), vs=np.sqrt(c[2] / ro), epsilon=epsilon, delta=delta, nu=nu)

def fields_3d():
    ro, (c11, c22, c33, c44, c55, c66, c12, c13, c23) = load('ro3'), load('ort3')
    eps2, del2 = thomsen(c11, c33, c55, c13)
    eps1, del1 = thomsen(c22, c33, c44, c23)
    del3 = ((c12 + c66)**2 - (c11 - c66)**2) / (2 * c11 * (c11 - c66))
    return dict(ro=ro, vp=np.sqrt(c33 / ro), vs=np.sqrt(c55 / ro), eps1=eps1, eps2=eps2, del1=del1, del2=del2,
                del3=del3, gam1=(c66 / c55 - 1) / 2, gam2=(c66 / c44 - 1) / 2)

def pack(name, fields):
    """Whole multiples of a step above the smallest value; differences along every axis; Rice code. See README.md."""
    out = bytearray()
    for key, field in fields.items():
        step, low = STEP * SCALE.get(key, 0.5), field.min()
        orders = (2, 1) if field.ndim == 2 else (1, 2, 1)
        left = np.round((field - low) / step).astype('i8')
        for axis, order in enumerate(orders):
            for _ in range(order):
                left = np.diff(left, axis=axis, prepend=0)
        folded = np.where(left >= 0, 2 * left, -2 * left - 1).ravel()
        k = min(range(1, 25), key=lambda k: int(((folded >> k) + 1 + k).sum()))
        bits = ''.join('1' * (u >> k) + '0' + format(u & ((1 << k) - 1), f'0{k}b') for u in folded.tolist())
        bits += '0' * (-len(bits) % 8)
        packed = int(bits, 2).to_bytes(len(bits) // 8, 'big')
        out += struct.pack('<ddII', low, step, k, len(packed)) + packed
    open(os.path.join(here, name), 'wb').write(out)

def points(name):
    h = header(name)
    return dict(n1=int(h['n1']), o2=float(h.get('o2', 0)), d2=float(h.get('d2', 1)), unit2=h.get('unit2', ''),
                values=[float('%.9g' % x) for x in load(name).ravel()])

def reference(case):
    """Every 3rd receiver and 4th record; every 7th (3-D: 5th) snapshot cell along each axis. Float32, data first."""
    name = case['name']
    data = load(name + '.dat')
    three = name.startswith('omp3d')
    entry = dict(name=name, max=float(abs(data).max()), data=axes(header(name + '.dat'), 3))
    entry['data'][2][0] = len(data)
    parts = [data[::4, :, ::3]]
    words = case['command'].split(' > ')[0].split()
    entry['args'] = ' '.join(w for w in words[3:] if not w.startswith('wfl='))
    entry['wavelet'] = words[2].split('.')[0]
    if case.get('snapshot') or 'defaultwindow' in name:
        kind = '.snap' if case.get('snapshot') and 'defaultwindow' not in name else '.wfl'
        snap, h = load(name + kind), header(name + kind)
        rank = 5 if three else 4
        entry['wfl'] = axes(h, rank)
        if kind == '.snap':                               # sfwindow has cut it out of two
            entry['wfl'][rank - 1][0], entry['wfl'][rank - 1][1] = 2, 0.0
        n = [a[0] for a in entry['wfl'][:-1]][::-1]
        last = snap.reshape([-1] + n)[-1]
        entry['wflmax'] = float(abs(last).max())
        parts.append(last[:, ::5, ::5, ::5] if three else last[:, ::7, ::7])
    np.concatenate([p.ravel() for p in parts]).astype('<f4').tofile(os.path.join(here, name + '.ref'))
    return entry

def main():
    pack('fields2.rice', fields_2d())
    pack('fields3.rice', fields_3d())
    manifest = {c['name']: c for c in json.load(open(os.path.join(gold, 'manifest.json')))['cases']}
    cases = [reference(manifest[name]) for name in CASES]
    grids = {key: axes(header(name), rank) for key, name, rank in (('2', 'ro2', 2), ('3', 'ro3', 3))}
    wavelets = {}
    for name in sorted({c['wavelet'] for c in cases}):
        values = load(name)
        nt = values.shape[0]
        wavelets[name] = axes(header(name), 3)
        values.reshape(nt, -1).astype('<f4').tofile(os.path.join(here, name + '.raw'))
    names = sorted({w.split('=')[1].split('.')[0] for c in cases for w in c['args'].split() if re.match('sou=|rec=', w)})
    book = dict(grids=grids, wavelets=wavelets, points={n: points(n) for n in names}, cases=cases)
    text = json.dumps(book, indent=1)
    text = re.sub(r'\[\s+([^\[\]{}]*?)\s+\]', lambda m: '[' + re.sub(r'\s*\n\s*', ' ', m[1]) + ']', text)
    open(os.path.join(here, 'cases.json'), 'w').write(text + '\n')

main()
