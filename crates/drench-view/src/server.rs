//! The page and its data over HTTP, on the loopback interface.
//!
//! ```text
//! GET  /TOKEN/                            the page
//! GET  /TOKEN/app.js                      its program
//! GET  /TOKEN/api/state                   the runs that are shown, and the simulation behind the page if there is one
//! GET  /TOKEN/api/others                  run folders that can be shown besides
//! POST /TOKEN/api/open                    shows one of those: {"folder": "..."}
//! GET  /TOKEN/api/run/N/scene             what things look like
//! GET  /TOKEN/api/run/N/stats?from=F      figures of the frames from F on
//! GET  /TOKEN/api/run/N/frame/F?...       a frame as a packet
//! GET  /TOKEN/api/run/N/pick/F?...        what is known of a strand, particle or voxel
//! GET  /TOKEN/api/parameters              what can be changed in the scene behind the page
//! POST /TOKEN/api/live                    a request to the simulation behind the page
//! ```
//! Runs are only read. Everything that takes time happens on threads of its own, so that the page stays quick.

use crate::error::{Result, ViewError};
use crate::guard::Guard;
use crate::live::{Live, Request};
use crate::packet::Wish;
use crate::pick::Pick;
use crate::porous::Survey;
use crate::run::{self, Run, lock};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use drench_io::IoError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const PAGE: &[u8] = include_bytes!("../web/src/index.html");
const PROGRAM: &[u8] = include_bytes!("../web/dist/app.js");
/// Runs that a page can have open.
const MOST_RUNS: usize = 64;
/// Nothing but what this server sends, and no page of others around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; \
                      img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// A viewer that listens.
pub struct Viewer {
    listener: TcpListener,
    guard: Guard,
    shown: Shown,
}

/// What the page shows.
struct Shown {
    runs: Mutex<Vec<Arc<Run>>>,
    /// The simulation behind the page; its run is the first.
    live: Option<Arc<dyn Live>>,
    /// How the porous grid of a frame is found.
    survey: Option<Survey>,
}

/// What a handler answers with.
enum Answer {
    Bytes(&'static str, Vec<u8>),
    Json(Value),
}

impl Viewer {
    /// Listens at a port of this machine, at a free one if `port` is 0. With a simulation behind the page, its run is
    /// shown first; `runs` are shown after it.
    pub fn bind(port: u16, runs: Vec<Run>, live: Option<Arc<dyn Live>>) -> Result<Self> {
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::AddrInUse => ViewError::PortInUse { port },
            _ => ViewError::Listen { port, reason: error.to_string() },
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let guard = Guard::new(listener.local_addr().map_err(failed)?.port());
        let live_run = live.iter().map(|live| Arc::new(Run::new(&live.folder())));
        let runs = live_run.chain(runs.into_iter().map(Arc::new)).collect();
        let shown = Shown { runs: Mutex::new(runs), live, survey: None };
        Ok(Self { listener, guard, shown })
    }

    /// Shows the porous grid too, found by `survey`.
    pub fn with_survey(mut self, survey: Survey) -> Self {
        self.shown.survey = Some(survey);
        self
    }

    /// The address to open, with the token.
    pub fn address(&self) -> String {
        self.guard.address()
    }

    /// Answers until the process ends, or the system takes the socket away.
    pub fn serve(self) -> Result<()> {
        let port = self.listener.local_addr().map_or(0, |address| address.port());
        let failed = |error: std::io::Error| ViewError::Listen { port, reason: error.to_string() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let Self { listener, guard, shown } = self;
        let shown = Arc::new(shown);
        runtime
            .block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                let router = Router::new().fallback(move |method, uri, headers, body| {
                    let (guard, shown) = (guard.clone(), shown.clone());
                    answer(guard, shown, method, uri, headers, body)
                });
                axum::serve(listener, router).await
            })
            .map_err(failed)
    }
}

async fn answer(
    guard: Guard,
    shown: Arc<Shown>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // What is not text is not one of ours either.
    let origin = headers.get("origin").map(|value| value.to_str().unwrap_or("unreadable"));
    let path = match guard.admit(uri.path(), named("host"), origin, named("sec-fetch-site")) {
        Ok(path) => path.to_owned(),
        Err(refusal) => return plain(StatusCode::FORBIDDEN, refusal.reason()),
    };
    let work = tokio::task::spawn_blocking(move || shown.handle(&method, &path, &uri, &body));
    match work.await {
        Ok(Ok(answer)) => respond(answer),
        Ok(Err(error)) => failure(&error),
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "this request failed by a mistake of Drench's own"),
    }
}

#[derive(Deserialize)]
struct FrameQuery {
    channel: Option<String>,
    budget: Option<usize>,
    children: Option<u8>,
    surface: Option<u8>,
    porous: Option<u8>,
}

#[derive(Deserialize)]
struct StatsQuery {
    from: Option<u32>,
}

#[derive(Deserialize)]
struct Open {
    folder: PathBuf,
}

impl Shown {
    fn handle(&self, method: &Method, path: &str, uri: &Uri, body: &[u8]) -> Result<Answer> {
        let parts: Vec<&str> = path.split('/').collect();
        match (method, parts.as_slice()) {
            (&Method::GET, [""]) => Ok(Answer::Bytes("text/html; charset=utf-8", PAGE.to_vec())),
            (&Method::GET, ["app.js"]) => Ok(Answer::Bytes("text/javascript; charset=utf-8", PROGRAM.to_vec())),
            (&Method::GET, ["api", "state"]) => Ok(Answer::Json(self.state())),
            (&Method::GET, ["api", "others"]) => Ok(Answer::Json(json!(self.others()))),
            (&Method::GET, ["api", "parameters"]) => Ok(Answer::Json(self.live()?.parameters())),
            (&Method::GET, ["api", "run", run, rest @ ..]) => self.of_run(&*self.run(run)?, rest, uri),
            (&Method::POST, ["api", "open"]) => self.open(&parse::<Open>(body)?.folder),
            (&Method::POST, ["api", "live"]) => {
                let request = parse::<Request>(body)?;
                self.live()?.request(request).map_err(ViewError::Request)?;
                Ok(Answer::Json(self.state()))
            }
            _ => Err(ViewError::Request(format!("there is no {method} /{path}"))),
        }
    }

    fn of_run(&self, run: &Run, rest: &[&str], uri: &Uri) -> Result<Answer> {
        match rest {
            ["scene"] => Ok(Answer::Json(run.description()?)),
            ["stats"] => Ok(Answer::Json(json!(run.stats(query::<StatsQuery>(uri)?.from.unwrap_or(0))?))),
            ["frame", index] => {
                let FrameQuery { channel, budget, children, surface, porous } = query(uri)?;
                let usual = Wish::default();
                let wish = Wish {
                    channel: channel.filter(|channel| !channel.is_empty()),
                    budget: budget.unwrap_or(usual.budget),
                    children: children.is_none_or(|children| children != 0),
                    surface: surface.is_some_and(|surface| surface != 0),
                    porous: porous.is_some_and(|porous| porous != 0),
                };
                Ok(Answer::Bytes("application/octet-stream", run.packet(number(index)?, &wish, self.survey)?))
            }
            ["pick", index] => Ok(Answer::Json(run.pick(number(index)?, query::<Pick>(uri)?, self.survey)?)),
            _ => Err(ViewError::Request("there is no such thing of a run".to_owned())),
        }
    }

    fn live(&self) -> Result<&Arc<dyn Live>> {
        self.live.as_ref().ok_or_else(|| ViewError::Request("no simulation runs behind this page".to_owned()))
    }

    /// The runs that are shown. That of the simulation behind the page may have gone to another folder.
    fn runs(&self) -> Vec<Arc<Run>> {
        let mut runs = lock(&self.runs);
        if let (Some(live), Some(first)) = (&self.live, runs.first_mut()) {
            let folder = live.folder();
            if first.folder() != folder {
                *first = Arc::new(Run::new(&folder));
            }
        }
        runs.clone()
    }

    fn run(&self, number: &str) -> Result<Arc<Run>> {
        let number: usize = self::number(number)?;
        self.runs().get(number).cloned().ok_or_else(|| ViewError::Request("there is no such run".to_owned()))
    }

    fn state(&self) -> Value {
        json!({
            "runs": self.runs().iter().map(|run| run.state()).collect::<Vec<_>>(),
            "live": self.live.as_ref().map(|live| live.status()),
        })
    }

    fn others(&self) -> Vec<PathBuf> {
        run::beside(&self.runs().iter().map(|run| run.folder().to_owned()).collect::<Vec<_>>())
    }

    /// Shows one of the other runs too. Only those are let in: the page cannot ask for any folder of the machine.
    fn open(&self, folder: &Path) -> Result<Answer> {
        if !self.others().iter().any(|other| other == folder) {
            return Err(ViewError::Request("this folder is not beside a run that is shown".to_owned()));
        }
        let same = |run: &Arc<Run>| std::fs::canonicalize(run.folder()).is_ok_and(|path| path == folder);
        if let Some(number) = self.runs().iter().position(same) {
            return Ok(Answer::Json(json!({ "run": number })));
        }
        let run = Arc::new(Run::open(folder)?);
        let mut runs = lock(&self.runs);
        if runs.len() >= MOST_RUNS {
            return Err(ViewError::Request(format!("{MOST_RUNS} runs are open already")));
        }
        runs.push(run);
        Ok(Answer::Json(json!({ "run": runs.len() - 1 })))
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| ViewError::Request("a number is wanted here".to_owned()))
}

fn query<T: for<'a> Deserialize<'a>>(uri: &Uri) -> Result<T> {
    match Query::try_from_uri(uri) {
        Ok(Query(query)) => Ok(query),
        Err(error) => Err(ViewError::Request(error.to_string())),
    }
}

fn parse<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| ViewError::Request(format!("this request is not understood: {error}")))
}

fn failure(error: &ViewError) -> Response {
    let status = match error {
        // A frame that is not there yet, or no longer: nothing is wrong.
        ViewError::Io(IoError::Missing { .. }) => return plain(StatusCode::NO_CONTENT, ""),
        ViewError::Request(_) => StatusCode::BAD_REQUEST,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    build(status, "application/json", Body::from(json!({ "error": error.to_string() }).to_string()))
}

fn plain(status: StatusCode, text: &str) -> Response {
    build(status, "text/plain; charset=utf-8", Body::from(text.to_owned()))
}

fn respond(answer: Answer) -> Response {
    match answer {
        Answer::Bytes(kind, bytes) => build(StatusCode::OK, kind, Body::from(bytes)),
        Answer::Json(value) => build(StatusCode::OK, "application/json", Body::from(value.to_string())),
    }
}

fn build(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}
