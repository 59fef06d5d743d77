"""Small SEG-Y and SU files by segyio 1.9: python make.py writes them here, with what segyio reads from them in expected.json."""

import json

import numpy as np
import segyio

rng = np.random.default_rng(7)
SAMPLES, TRACES = 9, 4
TEXT = segyio.tools.create_text_header({1: "FOUR TRACES MADE BY SEGYIO", 2: "BRACKETS () + - * / = ' : , ."})
FIELD = segyio.TraceField


def make(name, code, endian="big", further=0):
    spec = segyio.spec()
    spec.format, spec.samples, spec.tracecount = code, 4.0 * np.arange(SAMPLES), TRACES
    spec.endian, spec.ext_headers = endian, further
    values = rng.normal(size=(TRACES, SAMPLES)) * 10.0 ** rng.integers(-4, 5, size=(TRACES, SAMPLES))
    if code in (2, 3, 8):
        values = rng.integers(-120, 120, size=(TRACES, SAMPLES)) * {2: 10**6, 3: 250, 8: 1}[code]
    values[0, 0] = 0
    with segyio.create(name, spec) as file:
        for i in range(further + 1):
            file.text[i] = TEXT
        file.bin.update(jobid=5, lino=-6, hdt=4000, hns=SAMPLES, mfeet=1, fold=2)
        for i in range(TRACES):
            file.header[i] = {
                FIELD.TRACE_SEQUENCE_LINE: i + 1,
                FIELD.FieldRecord: 1000000 + i,
                FIELD.TraceIdentificationCode: 1,
                FIELD.offset: -250 * i,
                FIELD.SourceGroupScalar: -10,
                FIELD.GroupX: 123456 + i,
                FIELD.DelayRecordingTime: 8,
                FIELD.TRACE_SAMPLE_COUNT: SAMPLES,
                FIELD.TRACE_SAMPLE_INTERVAL: 4000,
                FIELD.INLINE_3D: 7,
                FIELD.CROSSLINE_3D: 20 + i,
                FIELD.ShotPoint: -i,
            }
            file.trace[i] = values[i].astype(file.dtype)
    if code == 5 and not further:
        # SU consists only of traces.
        with open(name, "rb") as file:
            traces = file.read()[3600:]
        with open(name.replace("sgy", "su"), "wb") as file:
            file.write(traces)
    with segyio.open(name, ignore_geometry=True, endian=endian) as file:
        # Fields that are not 0, by their first byte, counted from 0.
        headers = [{int(key) - 1: value for key, value in header.items() if value} for header in file.header]
        return {
            "values": [[float(f"{x:.9g}") for x in trace] for trace in file.trace],
            "headers": headers,
            "text": bytes(file.text[0]).decode("latin1"),
        }


files = [("ibm.sgy", 1), ("int4.sgy", 2), ("int2.sgy", 3), ("int1.sgy", 8), ("ieee.sgy", 5), ("little.sgy", 5, "little")]
answers = {name: make(name, *rest) for name, *rest in files + [("further.sgy", 3, "big", 1)]}
with open("expected.json", "w") as file:
    json.dump(answers, file)
