//! A real browser, driven over its DevTools protocol: JSON through two pipes, messages end with a zero byte.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Size of the window [px].
pub const SIZE: [u32; 2] = [1280, 720];

/// A browser with one page.
pub struct Browser {
    process: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    session: String,
    sent: u64,
    /// What the console complained about.
    pub complaints: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser that `CHROMIUM` names, or `chromium`, with an empty page.
    pub fn start() -> Self {
        let program = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("chromium"), PathBuf::from);
        let profile = tempfile::tempdir().unwrap();
        // The browser wants the pipes as files 3 and 4.
        let mut process = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#])
            .arg(&program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--no-first-run",
                "--disable-dev-shm-usage",
            ])
            .args(["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(message) = message else { return };
                if sender.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let session = String::new();
        let mut browser =
            Self { process, requests, messages, session, sent: 0, complaints: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attached = browser.ask("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        let [width, height] = SIZE;
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        browser.ask("Emulation.setDeviceMetricsOverride", size);
        browser
    }

    /// One request and its answer.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut request = json!({ "id": self.sent, "method": method, "params": parameters });
        if !self.session.is_empty() {
            request["sessionId"] = json!(self.session);
        }
        write!(self.requests, "{request}\0").unwrap();
        self.requests.flush().unwrap();
        loop {
            let message =
                self.messages.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("the browser does not answer {method}"));
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => parameters["exceptionDetails"].to_string(),
            Some("Runtime.consoleAPICalled")
                if ["error", "warning", "assert"].contains(&parameters["type"].as_str().unwrap()) =>
            {
                parameters["args"].to_string()
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => parameters["entry"].to_string(),
            _ => return,
        };
        self.complaints.push(complaint);
    }

    /// Opens an address.
    pub fn open(&mut self, address: &str) {
        self.ask("Page.navigate", json!({ "url": address }));
    }

    /// The value of an expression in the page; it may be a promise.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.value(&format!("!!({expression})")) != true {
            if begun.elapsed() > PATIENCE {
                let notice = self.value("document.getElementById('notice')?.textContent");
                panic!("this did not come true: {expression}\nthe page says: {notice}\nconsole: {:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses the mouse at a point of the window and lets it go there.
    pub fn click(&mut self, x: f64, y: f64) {
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.ask("Input.dispatchKeyEvent", json!({ "type": kind, "key": key }));
        }
    }

    /// Chooses an option of a list by its value.
    pub fn choose(&mut self, id: &str, value: &str) {
        self.value(&format!(
            "{{ const list = document.getElementById({id:?}); list.value = {value:?}; list.dispatchEvent(new Event('change')); }}"
        ));
    }

    /// The picture of the stage, after everything that was asked for is drawn.
    pub fn picture(&mut self) -> image::RgbImage {
        self.value(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))",
        );
        let area = self.value("(() => { const box = document.getElementById('stage').getBoundingClientRect(); return { x: box.x, y: box.y, width: box.width, height: box.height, scale: 1 }; })()");
        let shot = self.ask("Page.captureScreenshot", json!({ "format": "png", "clip": area }));
        image::load_from_memory(&base64(shot["data"].as_str().unwrap())).unwrap().into_rgb8()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Bytes from their text.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for digit in text.bytes().filter_map(|byte| DIGITS.iter().position(|&digit| digit == byte)) {
        held = held << 6 | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
