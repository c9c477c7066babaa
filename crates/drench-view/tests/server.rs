//! The server as a browser, a foreign page and a curious neighbour see it, and runs in every state that they can be in.
#![allow(clippy::unwrap_used, reason = "test code")]

use drench_io::{Frame, FrameStats, RunFolder, RunRecord, RunStatus, StrandBody, clock};
use drench_view::packet;
use drench_view::{Live, LiveState, LiveStatus, Request, Run, ViewError, Viewer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

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
        scene: "name = \"rope\"\n[[camera]]\nname = \"main\"\nposition = [0, 0, 1]\ntarget = [0, 0, 0]".into(),
    }
}

fn frame(index: u32) -> Frame {
    let positions = (0..30).map(|i| [0.01 * i as f32, index as f32, 0.0]).collect();
    let body = StrandBody { name: "rope".into(), offsets: vec![0, 30], positions, ..StrandBody::default() };
    Frame { index, time: f64::from(index) / 24.0, strands: vec![body], ..Frame::default() }
}

/// A run with some frames, still being written.
fn run(path: &Path, frames: u32) -> RunFolder {
    let mut folder = RunFolder::create(path, record(), false).unwrap();
    for index in 0..frames {
        write(&mut folder, index);
    }
    folder
}

fn write(folder: &mut RunFolder, index: u32) {
    folder.write_frame(&frame(index)).unwrap();
    folder.append_stats(&FrameStats { frame: index, ..FrameStats::default() }).unwrap();
}

/// A viewer that answers on a thread of its own, as long as the test runs.
struct Served {
    host: String,
    path: String,
}

impl Served {
    fn new(runs: Vec<Run>, live: Option<Arc<dyn Live>>) -> Self {
        let viewer = Viewer::bind(0, runs, live).unwrap();
        let address = viewer.address();
        let (host, token) = address.trim_start_matches("http://").split_once('/').unwrap();
        let served = Self { host: host.to_owned(), path: format!("/{token}") };
        std::thread::spawn(move || viewer.serve().unwrap());
        served
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let status = std::str::from_utf8(&answer[9..12]).unwrap().parse().unwrap();
        (status, answer[head + 4..].to_vec())
    }

    fn get(&self, path: &str) -> (u16, Vec<u8>) {
        self.send("GET", &format!("{}{path}", self.path), &format!("Host: {}\r\n", self.host), "")
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let headers = format!("Host: {0}\r\nOrigin: http://{0}\r\n", self.host);
        let (status, body) = self.send("POST", &format!("{}{path}", self.path), &headers, &body.to_string());
        (status, serde_json::from_slice(&body).unwrap())
    }

    fn complaint(&self, path: &str) -> (u16, String) {
        let (status, body) = self.get(path);
        let body: Value = serde_json::from_slice(&body).unwrap();
        (status, body["error"].as_str().unwrap().to_owned())
    }
}

#[test]
fn the_page_its_program_and_frames_come_with_the_token() {
    let place = tempfile::tempdir().unwrap();
    let _writer = run(place.path(), 3);
    let served = Served::new(vec![Run::open(place.path()).unwrap()], None);
    assert!(String::from_utf8(served.get("").1).unwrap().contains("<script type=\"module\" src=\"app.js\">"));
    assert!(served.get("app.js").1.len() > 100_000);
    let state = served.json("api/state");
    assert_eq!((&state["runs"][0]["status"], &state["live"]), (&json!("running"), &Value::Null));
    assert_eq!(state["runs"][0]["frames"], json!({ "first": 0, "last": 2, "missing": [] }));
    let (status, bytes) = served.get("api/run/0/frame/2?channel=strain&budget=1000");
    let (header, data) = packet::split(&bytes).unwrap();
    assert_eq!((status, &header["frame"], &header["strands"][0]["vertices"]), (200, &json!(2), &json!(30)));
    assert_eq!(header["cameras"][0]["name"], "main");
    assert!(data.len() > 33 * 12);
    assert_eq!(served.json("api/run/0/stats?from=1").as_array().unwrap().len(), 2);
    assert_eq!(served.json("api/run/0/pick/1?kind=strands&body=0&item=0&vertex=3")["title"], "rope: strand 0");
    assert!(served.json("api/run/0/scene")["hair"].is_object());
}

#[test]
fn others_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let _writer = run(place.path(), 1);
    let served = Served::new(vec![Run::open(place.path()).unwrap()], None);
    let own = format!("Host: {}\r\n", served.host);
    let state = format!("{}api/state", served.path);
    let port = served.host.rsplit(':').next().unwrap();
    for (path, headers) in [
        ("/".to_owned(), own.clone()),
        ("/api/state".to_owned(), own.clone()),
        ("/00000000000000000000000000000000/api/state".to_owned(), own.clone()),
        (state.clone(), String::new()),
        (state.clone(), format!("Host: evil.example:{port}\r\n")),
        (state.clone(), format!("{own}Origin: https://evil.example\r\n")),
        (state.clone(), format!("{own}Origin: null\r\n")),
        (state.clone(), format!("{own}Sec-Fetch-Site: cross-site\r\n")),
    ] {
        let (status, body) = served.send("GET", &path, &headers, "");
        assert!(status == 403 || status == 400, "{path} {headers}: {status}");
        assert!(!String::from_utf8_lossy(&body).contains("rope"));
    }
    assert_eq!(served.send("GET", &state, &own, "").0, 200);
    // What does not exist, makes no sense, or would leave the folder is said to be so.
    for path in [
        "api/run/7/scene",
        "api/run/x/scene",
        "api/nothing",
        "api/run/0/frame/minus",
        "../etc/passwd",
        "api/run/0/frame/0?budget=many",
        "api/parameters",
    ] {
        assert_eq!(served.complaint(path).0, 400, "{path}");
    }
    assert_eq!(served.post("api/open", &json!({ "folder": "/etc" })).0, 400);
    assert_eq!(served.post("api/live", &json!({ "do": "pause" })).0, 400);
    assert_eq!(served.post("api/live", &json!("nonsense")).0, 400);
}

#[test]
fn a_run_is_followed_while_it_is_written_and_replaced() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut writer = run(&path, 0);
    let served = Served::new(vec![Run::open(&path).unwrap()], None);
    assert_eq!(served.json("api/state")["runs"][0]["status"], "waiting");
    assert_eq!(served.get("api/run/0/frame/0").0, 204);
    write(&mut writer, 0);
    write(&mut writer, 1);
    let state = served.json("api/state");
    assert_eq!((&state["runs"][0]["status"], &state["runs"][0]["frames"]["last"]), (&json!("running"), &json!(1)));
    assert_eq!(served.get("api/run/0/frame/1").0, 200);
    assert_eq!(served.get("api/run/0/frame/2").0, 204);
    write(&mut writer, 2);
    assert_eq!(served.get("api/run/0/frame/2").0, 200);
    assert_eq!(served.json("api/run/0/stats").as_array().unwrap().len(), 3);

    // A frame that was lost is told; whoever looks changes nothing.
    fs::remove_file(path.join("frames/000001.drench")).unwrap();
    assert_eq!(served.json("api/state")["runs"][0]["frames"]["missing"], json!([1]));
    let before: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();

    let generation = state["runs"][0]["generation"].clone();
    drop(writer);
    let mut other = record();
    other.scene += "\n[air]\ndrag = 1";
    let mut writer = RunFolder::create(&path, other, true).unwrap();
    write(&mut writer, 0);
    let state = served.json("api/state");
    assert_ne!(state["runs"][0]["generation"], generation);
    assert_eq!(state["runs"][0]["frames"]["last"], 0);
    assert_eq!(served.get("api/run/0/frame/0").0, 200);
    assert!(before.iter().all(|name| path.join(name).exists()));
}

#[test]
fn a_run_whose_writer_died_is_told_from_one_that_is_written() {
    let place = tempfile::tempdir().unwrap();
    drop(run(place.path(), 2));
    // No process has this number.
    fs::write(place.path().join(".lock"), "4294967295").unwrap();
    let served = Served::new(vec![Run::open(place.path()).unwrap()], None);
    let expected = if cfg!(target_os = "linux") { "stopped" } else { "running" };
    assert_eq!(served.json("api/state")["runs"][0]["status"], expected);
}

#[test]
fn damage_is_named_and_the_rest_can_still_be_seen() {
    let place = tempfile::tempdir().unwrap();
    drop(run(place.path(), 3));
    let path = place.path().join("frames/000001.drench");
    let mut content = fs::read(&path).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 0x55;
    fs::write(&path, &content).unwrap();
    let served = Served::new(vec![Run::open(place.path()).unwrap()], None);
    let (status, text) = served.complaint("api/run/0/frame/1");
    assert!(status == 422 && text.contains("000001.drench is damaged") && text.contains("--resume"), "{status} {text}");
    assert_eq!(served.get("api/run/0/frame/0").0, 200);

    // A frame, and a whole run, of a newer version.
    let mut content = fs::read(place.path().join("frames/000002.drench")).unwrap();
    content[8] = 9;
    fs::write(place.path().join("frames/000002.drench"), content).unwrap();
    let (status, text) = served.complaint("api/run/0/frame/2");
    assert!(status == 422 && text.contains("format version 9"), "{status} {text}");
    let mut content = fs::read(place.path().join("model.drench")).unwrap();
    content[8] = 9;
    fs::write(place.path().join("model.drench"), content).unwrap();
    let error = Run::open(place.path()).unwrap_err().to_string();
    assert!(error.contains("format version 9") && error.contains("fix:"), "{error}");
}

#[test]
fn folders_that_are_no_runs_are_refused_and_newer_scenes_still_shown() {
    let place = tempfile::tempdir().unwrap();
    assert!(Run::open(&place.path().join("nothing")).unwrap_err().to_string().contains("is missing"));
    fs::write(place.path().join("run.json"), "{").unwrap();
    assert!(Run::open(place.path()).unwrap_err().to_string().contains("damaged"));

    let path = place.path().join("newer");
    let mut folder =
        RunFolder::create(&path, RunRecord { scene: "name = \"x\"\n[teleport]".into(), ..record() }, false).unwrap();
    write(&mut folder, 0);
    let served = Served::new(vec![Run::open(&path).unwrap()], None);
    assert!(served.json("api/state")["runs"][0]["note"].as_str().unwrap().contains("does not understand"));
    assert_eq!(served.get("api/run/0/frame/0").0, 200);
}

#[test]
fn a_port_in_use_is_told() {
    let first = Viewer::bind(0, Vec::new(), None).unwrap();
    let port = first.address().trim_start_matches("http://127.0.0.1:").split('/').next().unwrap().parse().unwrap();
    match Viewer::bind(port, Vec::new(), None) {
        Err(error @ ViewError::PortInUse { .. }) => assert!(error.to_string().contains("fix:")),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two servers at one port"),
    }
}

#[test]
fn runs_beside_the_one_shown_can_be_opened() {
    let place = tempfile::tempdir().unwrap();
    let _writers = [run(&place.path().join("a"), 1), run(&place.path().join("b"), 1)];
    fs::create_dir(place.path().join("no run")).unwrap();
    let served = Served::new(vec![Run::open(&place.path().join("a")).unwrap()], None);
    let others = served.json("api/others");
    assert_eq!(others.as_array().unwrap().len(), 2);
    assert_eq!(served.post("api/open", &json!({ "folder": others[1] })), (200, json!({ "run": 1 })));
    assert_eq!(served.post("api/open", &json!({ "folder": others[0] })), (200, json!({ "run": 0 })));
    assert_eq!(served.get("api/run/1/frame/0").0, 200);
}

/// A simulation that only remembers what it was asked for.
struct Pretended {
    folder: Mutex<PathBuf>,
    asked: Mutex<Vec<Request>>,
}

impl Live for Pretended {
    fn folder(&self) -> PathBuf {
        self.folder.lock().unwrap().clone()
    }

    fn status(&self) -> LiveStatus {
        LiveStatus { state: LiveState::Running, message: String::new(), set: BTreeMap::new() }
    }

    fn request(&self, request: Request) -> Result<(), String> {
        self.asked.lock().unwrap().push(request);
        Ok(())
    }

    fn parameters(&self) -> Value {
        json!([])
    }
}

#[test]
fn requests_reach_the_simulation_and_its_run_is_shown_wherever_it_goes() {
    let place = tempfile::tempdir().unwrap();
    let _writer = run(&place.path().join("b"), 2);
    let live = Arc::new(Pretended { folder: Mutex::new(place.path().join("a")), asked: Mutex::default() });
    let served = Served::new(Vec::new(), Some(live.clone()));
    assert_eq!(served.json("api/state")["runs"][0]["status"], "waiting");
    assert_eq!(served.post("api/live", &json!({ "do": "pause" })).0, 200);
    let rerun = json!({ "do": "rerun", "set": { "simulation.substeps": "8" }, "from": 3, "keep": false });
    assert_eq!(served.post("api/live", &rerun).0, 200);
    assert_eq!(served.post("api/live", &json!({ "do": "explode" })).0, 400);
    let set = BTreeMap::from([("simulation.substeps".to_owned(), "8".to_owned())]);
    assert_eq!(*live.asked.lock().unwrap(), [Request::Pause, Request::Rerun { set, from: Some(3), keep: false }]);
    *live.folder.lock().unwrap() = place.path().join("b");
    let state = served.json("api/state");
    assert_eq!((&state["runs"][0]["frames"]["last"], &state["live"]["state"]), (&json!(1), &json!("running")));
}
