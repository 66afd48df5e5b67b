from mercer import demo


def test_demo_prints_a_table_and_writes_a_picture(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.main()
    captured = capsys.readouterr()
    picture = tmp_path / demo.PICTURE
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture.resolve()) in captured.out
    assert len(captured.err.splitlines()) == sum(line.endswith(" s") for line in captured.out.splitlines())


def test_demo_results_are_sane():
    results = {(r.data, r.method, r.kernel.split("(")[0]): r.error for r in demo.run_all()}
    assert results["diabetes", "KernelRidge", "gaussian"] < 0.8 * results["diabetes", "KernelRidge", "constant"]
    assert results["digits", "KernelRidge", "gaussian"] < 2.0
