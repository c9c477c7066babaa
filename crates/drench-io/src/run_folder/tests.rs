use super::*;
use crate::frame::StrandBody;

fn record() -> RunRecord {
    RunRecord {
        name: "rope".into(),
        version: "0.1.0".into(),
        seed: 1,
        threads: 2,
        size: Some("tiny".into()),
        frames: 5,
        fps: 24.0,
        status: RunStatus::Running,
        started: clock::now(),
        updated: clock::now(),
        wall_seconds: 0.0,
        base: PathBuf::from("."),
        scene: "name = \"rope\"".into(),
    }
}

fn frame(index: u32) -> Frame {
    let positions = (0..30).map(|i| [0.01 * i as f32, index as f32, 0.0]).collect();
    let body = StrandBody { name: "rope".into(), offsets: vec![0, 30], positions, ..StrandBody::default() };
    Frame { index, time: f64::from(index) / 24.0, strands: vec![body], ..Frame::default() }
}

/// What a run does after each frame.
fn finish_frame(run: &mut RunFolder, index: u32) {
    run.write_frame(&frame(index)).unwrap();
    run.append_stats(&FrameStats { frame: index, ..FrameStats::default() }).unwrap();
    if index.is_multiple_of(2) {
        let checkpoint = Checkpoint { frame: index, scene: 7, state: vec![index as u8; 100] };
        run.write_checkpoint(&checkpoint).unwrap();
    }
}

fn interrupted_run(folder: &Path) {
    let mut run = RunFolder::create(folder, record(), false).unwrap();
    (0..=5).for_each(|index| finish_frame(&mut run, index));
}

fn contents(folder: &Path) -> Vec<Vec<u8>> {
    let indices = crate::cache::frame_indices(folder).unwrap();
    indices.iter().map(|&index| fs::read(crate::cache::frame_path(folder, index)).unwrap()).collect()
}

#[test]
fn a_run_is_never_overwritten_silently_and_force_replaces_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs/rope");
    interrupted_run(&path);
    let message = RunFolder::create(&path, record(), false).unwrap_err().to_string();
    assert!(message.contains("--force") && message.contains("--resume"), "{message}");
    fs::write(path.join("notes.txt"), "mine").unwrap();
    fs::write(path.join("movie.mp4"), "old").unwrap();
    let run = RunFolder::create(&path, record(), true).unwrap();
    assert_eq!(RunRecord::read(&path).unwrap(), run.record);
    assert!(path.join("notes.txt").exists() && !path.join("movie.mp4").exists());
    assert!(contents(&path).is_empty());
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    for replace in [false, true] {
        let error = RunFolder::create(folder.path(), record(), replace).unwrap_err();
        assert!(matches!(error, IoError::Foreign { .. }), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn two_writers_cannot_share_a_folder_and_a_dead_one_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let first = RunFolder::create(folder.path(), record(), false).unwrap();
    let error = RunFolder::resume(folder.path()).unwrap_err();
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    assert!(RunFolder::create(folder.path(), record(), true).is_err());
    drop(first);
    // The lock's file is still there, as after a kill.
    assert!(folder.path().join(LOCK).exists());
    assert!(RunFolder::resume(folder.path()).unwrap().is_some());
}

#[test]
fn a_run_can_be_taken_back_to_an_earlier_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    interrupted_run(folder.path());
    let mut run = RunFolder::resume(folder.path()).unwrap().unwrap();
    assert_eq!(run.checkpoint_before(3).unwrap().unwrap().frame, 2);
    assert_eq!(run.checkpoint_before(1).unwrap().unwrap().frame, 0);
    assert_eq!(contents(folder.path()).len(), 6);
    let rewind = run.rewind_to(Some(7), 3).unwrap();
    assert_eq!(rewind.checkpoint.unwrap().frame, 2);
    assert_eq!((contents(folder.path()).len(), rewind.stats.len()), (3, 3));
}

#[test]
fn whether_the_writer_lives_is_told_without_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(writer(folder.path()), None);
    let run = RunFolder::create(folder.path(), record(), false).unwrap();
    assert_ne!(writer(folder.path()), Some(false));
    drop(run);
    assert!(RunFolder::resume(folder.path()).unwrap().is_some());
}

#[test]
fn resuming_goes_back_to_the_checkpoint_and_ends_with_the_same_bytes() {
    let whole = tempfile::tempdir().unwrap();
    interrupted_run(whole.path());
    let folder = tempfile::tempdir().unwrap();
    interrupted_run(folder.path());
    // Killed while frame 5 was being written.
    fs::remove_file(crate::cache::frame_path(folder.path(), 5)).unwrap();
    fs::write(folder.path().join("frames/000005.drench.tmp"), "half").unwrap();
    let mut log = OpenOptions::new().append(true).open(folder.path().join(STATS)).unwrap();
    log.write_all(b"{\"frame\":6").unwrap();

    let mut run = RunFolder::resume(folder.path()).unwrap().unwrap();
    let rewind = run.rewind(7).unwrap();
    assert_eq!(rewind.checkpoint.unwrap().frame, 4);
    assert_eq!(rewind.stats.iter().map(|stats| stats.frame).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(rewind.messages.is_empty(), "{:?}", rewind.messages);
    finish_frame(&mut run, 5);
    assert_eq!(contents(folder.path()), contents(whole.path()));
    let (stats, _) = read_stats(folder.path()).unwrap();
    assert_eq!(stats.iter().map(|stats| stats.frame).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert!(!folder.path().join("frames/000005.drench.tmp").exists());
}

#[test]
fn a_damaged_frame_sends_the_run_back_before_it() {
    let folder = tempfile::tempdir().unwrap();
    interrupted_run(folder.path());
    let path = crate::cache::frame_path(folder.path(), 3);
    let mut content = fs::read(&path).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 0x40;
    fs::write(&path, content).unwrap();
    let mut run = RunFolder::resume(folder.path()).unwrap().unwrap();
    let rewind = run.rewind(7).unwrap();
    assert_eq!(rewind.checkpoint.unwrap().frame, 2);
    assert!(rewind.messages[0].contains("frame 3 is computed anew"), "{:?}", rewind.messages);
    assert_eq!(contents(folder.path()).len(), 3);
}

#[test]
fn without_a_usable_checkpoint_the_run_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    interrupted_run(folder.path());
    let before = contents(folder.path());
    let mut run = RunFolder::resume(folder.path()).unwrap().unwrap();
    // The checkpoints are of scene 7.
    let rewind = run.rewind(8).unwrap();
    assert!(rewind.checkpoint.is_none() && rewind.stats.is_empty());
    assert_eq!(rewind.messages.len(), 3);
    assert!(contents(folder.path()).is_empty());
    (0..=5).for_each(|index| finish_frame(&mut run, index));
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn a_damaged_model_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    interrupted_run(folder.path());
    let before = contents(folder.path());
    fs::write(folder.path().join("model.drench"), "nonsense").unwrap();
    let mut run = RunFolder::resume(folder.path()).unwrap().unwrap();
    let rewind = run.rewind(7).unwrap();
    assert!(rewind.checkpoint.is_none());
    assert!(rewind.messages[0].contains("not a Drench file"), "{:?}", rewind.messages);
    (0..=5).for_each(|index| finish_frame(&mut run, index));
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn nothing_to_resume_is_no_error_and_a_damaged_record_is() {
    let folder = tempfile::tempdir().unwrap();
    assert!(RunFolder::resume(&folder.path().join("new")).unwrap().is_none());
    assert!(matches!(RunRecord::read(folder.path()), Err(IoError::Missing { .. })));
    fs::write(folder.path().join(RECORD), "{").unwrap();
    assert!(matches!(RunFolder::resume(folder.path()), Err(IoError::Damaged { .. })));
}

#[test]
fn a_folder_that_cannot_be_made_is_a_storage_error() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = RunFolder::create(&folder.path().join("file/run"), record(), false).unwrap_err();
    assert!(error.is_storage(), "{error}");
}

#[test]
fn a_claim_that_is_given_up_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    drop(Claim::new(&new, false).unwrap());
    assert!(!new.exists());
    let old = folder.path().join("old");
    interrupted_run(&old);
    let before = contents(&old);
    drop(Claim::new(&old, true).unwrap());
    assert_eq!(contents(&old), before);
}
