//! The cache of compiled kernels: a file is complete or absent, and files of other users are not used.

use crate::fake::{Driver, on_machine};
use kernels::device::cuda::{Cache, Key};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder for a test")
}

fn key(text: &str) -> Key {
    Key::of(&[text.as_bytes()])
}

fn only_file(folder: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn what_is_put_comes_back_and_only_the_user_may_write_it() {
    let top = folder();
    let inside = top.path().join("deep/cubin");
    let cache = Cache::at(&inside);
    assert_eq!(cache.note(), None);
    assert_eq!(cache.get(&key("a")), None);
    cache.put(&key("a"), b"machine code");
    assert_eq!(cache.get(&key("a")).as_deref(), Some(&b"machine code"[..]));
    assert_eq!(cache.get(&key("b")), None);
    assert_eq!((mode(&inside), mode(&only_file(&inside))), (0o700, 0o600));
}

#[test]
fn parts_of_a_key_do_not_run_together() {
    assert_ne!(Key::of(&[b"ab", b"c"]), Key::of(&[b"a", b"bc"]));
}

#[test]
fn every_damage_is_seen_and_repaired() {
    let top = folder();
    let cache = Cache::at(top.path());
    cache.put(&key("a"), b"machine code");
    let file = only_file(top.path());
    let whole = fs::read(&file).expect("it was written");
    let mut damaged: Vec<Vec<u8>> = (0..whole.len())
        .map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        })
        .collect();
    damaged.extend((0..whole.len()).map(|length| whole[..length].to_vec()));
    damaged.push([&whole[..], b"x"].concat());
    for bytes in damaged {
        fs::write(&file, &bytes).expect("it is ours");
        assert_eq!(cache.get(&key("a")), None, "{bytes:?}");
    }
    cache.put(&key("a"), b"machine code");
    assert_eq!(fs::read(&file).expect("it is there"), whole);
}

#[test]
fn a_file_under_another_name_is_not_taken() {
    let top = folder();
    let cache = Cache::at(top.path());
    cache.put(&key("a"), b"machine code");
    let file = only_file(top.path());
    cache.put(&key("b"), b"other code");
    fs::copy(&file, top.path().join("aside")).expect("it is ours");
    for entry in fs::read_dir(top.path()).expect("it can be listed") {
        let path = entry.expect("an entry").path();
        fs::copy(top.path().join("aside"), path).expect("it is ours");
    }
    assert_eq!(cache.get(&key("b")), None);
}

#[test]
fn what_others_may_write_is_refused() {
    let top = folder();
    let cache = Cache::at(top.path());
    cache.put(&key("a"), b"machine code");
    let file = only_file(top.path());
    allow(&file, 0o622);
    assert_eq!(cache.get(&key("a")), None, "a file that others may write to");
    cache.put(&key("a"), b"machine code");
    assert_eq!(mode(&file), 0o600, "it is replaced");
    allow(top.path(), 0o777);
    let note = Cache::at(top.path()).note().expect("it is refused").to_string();
    assert!(note.contains("other users may write to it (mode 777)"), "{note}");
    assert!(note.contains("SIFAKA_CACHE"), "{note}");
}

#[test]
fn what_belongs_to_others_is_refused() {
    // The folder of the system belongs to the superuser; if the test runs as superuser, the folder is given to another
    // user.
    let top = folder();
    let mut foreign = PathBuf::from("/usr");
    if std::os::unix::fs::chown(top.path(), Some(65_534), None).is_ok() {
        foreign = top.path().to_path_buf();
    }
    let cache = Cache::at(&foreign);
    let note = cache.note().expect("it is refused");
    assert!(note.contains("it belongs to user "), "{note}");
    cache.put(&key("a"), b"machine code");
    assert_eq!(cache.get(&key("a")), None);
    if foreign == top.path() {
        std::os::unix::fs::chown(top.path(), Some(0), None).expect("given back");
    }
}

#[test]
fn a_place_that_cannot_be_created_is_no_error() {
    let top = folder();
    fs::write(top.path().join("file"), "").expect("it is ours");
    let cache = Cache::at(&top.path().join("file/cubin"));
    assert!(cache.note().is_some());
    cache.put(&key("a"), b"machine code");
    assert_eq!(cache.get(&key("a")), None);
}

#[test]
fn a_place_that_vanishes_is_no_error() {
    let top = folder();
    let cache = Cache::at(&top.path().join("cubin"));
    fs::remove_dir(top.path().join("cubin")).expect("it was made");
    cache.put(&key("a"), b"machine code");
    assert_eq!(cache.get(&key("a")), None);
}

#[test]
fn no_home_is_no_error() {
    let bare = [("SIFAKA_CACHE", ""), ("XDG_CACHE_HOME", ""), ("HOME", "")];
    on_machine("cache::no_home_is_no_error", Driver::Fake, &bare, || {
        let cache = Cache::of_user();
        let note = cache.note().expect("there is no place");
        assert!(note.contains("neither SIFAKA_CACHE nor HOME"), "{note}");
    });
}

#[test]
fn many_at_once_leave_one_whole_file() {
    let top = folder();
    let long = vec![7_u8; 300_000];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let cache = Cache::at(&top.path().join("cubin"));
                for _ in 0..10 {
                    cache.put(&key("a"), &long);
                    assert_eq!(cache.get(&key("a")).as_ref(), Some(&long));
                }
            });
        }
    });
    only_file(&top.path().join("cubin"));
}

#[test]
fn two_processes_at_once_leave_whole_files() {
    let shared = folder();
    let place = shared.path().to_string_lossy().into_owned();
    let variables = [("SIFAKA_TEST_PLACE", place.as_str())];
    let work = || {
        let place = std::env::var_os("SIFAKA_TEST_PLACE").expect("the machine is set");
        let cache = Cache::at(Path::new(&place));
        let long = vec![9_u8; 300_000];
        for _ in 0..30 {
            cache.put(&key("a"), &long);
            assert_eq!(cache.get(&key("a")).as_ref(), Some(&long));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let name = "cache::two_processes_at_once_leave_whole_files";
            scope.spawn(|| on_machine(name, Driver::Fake, &variables, work));
        }
    });
    let left = fs::read_dir(shared.path()).expect("it can be listed").count();
    assert!(left <= 1, "temporary files are left over: {left} files");
}
