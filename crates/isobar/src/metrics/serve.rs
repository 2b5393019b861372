//! The HTTP endpoint: GET /metrics and /healthz, and nothing else. It has one thread, and bounds on
//! everything that a client can make large or slow: connections, headers, and the duration of a
//! connection. If all connections are taken, a new client replaces the oldest one, so that clients
//! cannot keep others out by holding connections open.

use super::latest::LatestMetrics;
use crate::failure::bad_input;
use anyhow::anyhow;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use isobar_linux::machine::stop::hold_writers_signals;
use isobar_metrics::Form;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// Maximum number of connections at a time.
const MOST_CONNECTIONS: usize = 16;
/// Maximum duration of a connection, whatever happens on it.
const CONNECTION: Duration = Duration::from_secs(10);
/// Maximum time until a request's headers have arrived.
const HEADERS: Duration = Duration::from_secs(3);
/// Maximum size of a request's headers in bytes, which is the least that the library takes, and
/// their maximum number.
const HEADER_BYTES: usize = 8192;
const MOST_HEADERS: usize = 64;
/// How long no connection is accepted after the kernel gave no descriptor.
const BREATH: Duration = Duration::from_millis(200);

/// The listening endpoint; dropping it ends it.
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Binds an address and starts to answer.
    ///
    /// # Errors
    /// Bad input if the address can never be bound. A failure if another program listens there, if
    /// the machine does not have the address, both of which may be otherwise at the next start, or
    /// if no thread can be started.
    pub fn start(address: SocketAddr, latest: Arc<LatestMetrics>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).map_err(|why| refused(address, &why))?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let work = move || {
            hold_writers_signals();
            runtime.block_on(async {
                tokio::spawn(accept(listener, latest));
                // An error means that the sender was dropped, which is the request to stop.
                // Connections end with the runtime.
                let _ = stopped.await;
            });
        };
        let thread = thread::Builder::new().name("metrics".into()).spawn(work)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The address where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        // If the thread panicked, there is nothing left to report.
        self.thread.take().map(JoinHandle::join);
    }
}

fn refused(address: SocketAddr, why: &io::Error) -> anyhow::Error {
    let remedy = match why.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: give another port",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address: 127.0.0.1 is its loopback",
        io::ErrorKind::PermissionDenied => "ports below 1024 are for root: give another port",
        _ => "give another address",
    };
    let message = format!("metrics at {address}: {why}: {remedy}");
    match why.kind() {
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable => anyhow!(message),
        _ => bad_input(message),
    }
}

async fn accept(listener: tokio::net::TcpListener, latest: Arc<LatestMetrics>) {
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        open.retain(|connection| !connection.is_finished());
        if open.len() >= MOST_CONNECTIONS
            && let Some(oldest) = open.pop_front()
        {
            oldest.abort();
            latest.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        open.push_back(tokio::spawn(connection(stream, Arc::clone(&latest))).abort_handle());
    }
}

async fn connection(stream: tokio::net::TcpStream, latest: Arc<LatestMetrics>) {
    let service = service_fn(|request| {
        let answer = answer(&request, &latest);
        async { Ok::<_, Infallible>(answer) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS).keep_alive(false);
    http.max_buf_size(HEADER_BYTES).max_headers(MOST_HEADERS);
    let served = http.serve_connection(TokioIo::new(stream), service);
    if !matches!(tokio::time::timeout(CONNECTION, served).await, Ok(Ok(()))) {
        latest.turned_away.fetch_add(1, Ordering::Relaxed);
    }
}

fn answer(request: &Request<Incoming>, latest: &LatestMetrics) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        latest.turned_away.fetch_add(1, Ordering::Relaxed);
        let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here\n".to_owned());
        answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return answer;
    }
    match request.uri().path() {
        "/metrics" => metrics(request, latest),
        "/healthz" => match latest.health() {
            Ok(()) => text(StatusCode::OK, "ok\n".to_owned()),
            Err(age) => {
                let words = format!("the last epoch ended {:.0} s ago\n", age.as_secs_f64());
                text(StatusCode::SERVICE_UNAVAILABLE, words)
            }
        },
        _ => text(StatusCode::NOT_FOUND, "there are /metrics and /healthz\n".to_owned()),
    }
}

fn metrics(request: &Request<Incoming>, latest: &LatestMetrics) -> Response<Full<Bytes>> {
    let form = Form::accepted(request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()));
    let mut answer = Response::new(Full::new(Bytes::copy_from_slice(latest.text(form).as_bytes())));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    answer
}

fn text(status: StatusCode, words: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(words)));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::BadInput;

    #[test]
    fn an_address_that_may_be_free_at_the_next_start_is_no_bad_input() {
        let of = |kind: io::ErrorKind| refused(([127, 0, 0, 1], 80).into(), &kind.into());
        let taken = of(io::ErrorKind::AddrInUse);
        assert!(!taken.is::<BadInput>() && taken.to_string().contains("give another port"), "{taken}");
        assert!(!of(io::ErrorKind::AddrNotAvailable).is::<BadInput>());
        assert!(of(io::ErrorKind::PermissionDenied).is::<BadInput>());
    }
}
