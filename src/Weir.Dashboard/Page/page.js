// Redraws the live part of the page with what the server sends, and sends forms without leaving the page. Without this script, the page is as it was drawn.
(() => {
  'use strict';
  const live = document.getElementById('live');
  const connection = document.getElementById('connection');
  const result = document.getElementById('result');
  const hold = document.getElementById('hold');
  let source = null;
  let token = null;
  let undrawn = null;

  // A form's field named id hides the form's own.
  const idOf = node => (node.getAttribute && node.getAttribute('id')) || '';

  // What has not changed comes as an empty section.
  const isSame = node => node.nodeType === 1 && node.hasAttribute('data-same');

  // Changes the old children into the new ones and leaves alone what is equal, so that focus, selection and scroll positions stay.
  const morph = (old, next) => {
    const byKey = new Map();
    for (const child of old.children) if (idOf(child)) byKey.set(idOf(child), child);
    let at = old.firstChild;
    for (const wanted of [...next.childNodes]) {
      let found = idOf(wanted) ? byKey.get(idOf(wanted)) : at;
      if (!found || found.nodeName !== wanted.nodeName || idOf(found) !== idOf(wanted)) {
        old.insertBefore(wanted, at);
        continue;
      }
      if (found === at) at = at.nextSibling; else old.insertBefore(found, at);
      if (isSame(wanted)) continue;
      if (found.nodeType !== 1) { if (found.nodeValue !== wanted.nodeValue) found.nodeValue = wanted.nodeValue; continue; }
      if (found.isEqualNode(wanted)) continue;
      for (const { name } of [...found.attributes]) if (!wanted.hasAttribute(name) && name !== 'open') found.removeAttribute(name);
      for (const { name, value } of wanted.attributes) if (found.getAttribute(name) !== value) found.setAttribute(name, value);
      // What somebody is typing or choosing is theirs.
      if (found.contains(document.activeElement) && /^(INPUT|SELECT)$/.test(found.nodeName)) continue;
      morph(found, wanted);
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  };

  // While the page is held still, what comes is kept: the newest of each section.
  const take = html => {
    const { content } = Object.assign(document.createElement('template'), { innerHTML: html });
    for (const section of [...content.children].filter(isSame)) {
      const kept = undrawn && [...undrawn.children].find(other => idOf(other) === idOf(section));
      if (kept) section.replaceWith(kept);
    }
    undrawn = content;
    draw();
  };

  const draw = () => {
    if (hold.checked || !undrawn) return;
    morph(live, undrawn);
    undrawn = null;
  };

  const say = text => { if (connection.firstChild.nodeValue !== text) connection.firstChild.nodeValue = text; };

  const connect = () => {
    source = new EventSource(location.pathname + location.search);
    source.onopen = () => say('Live ');
    source.onmessage = event => {
      say('Live ');
      take(event.data);
    };
    // The drawings are for all who may act, and have no token.
    source.addEventListener('token', event => { token = event.data.split(' '); });
    source.onerror = () => {
      say('No connection, trying again ');
      // A refusal, such as that of a server that is just starting, ends an event source for good.
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    };
  };

  hold.parentElement.hidden = false;
  hold.addEventListener('change', draw);
  addEventListener('pagehide', () => source && source.close());
  addEventListener('pageshow', event => { if (event.persisted) connect(); });

  document.addEventListener('submit', async event => {
    const form = event.target;
    if (form.getAttribute('method') !== 'post') return;
    event.preventDefault();
    const question = (event.submitter && event.submitter.dataset.ask) || form.dataset.ask;
    if (question && !confirm(question)) return;
    const fields = new FormData(form, event.submitter);
    if (token) fields.set(...token);
    try {
      const answer = await fetch(location.pathname + location.search, {
        method: 'POST', body: new URLSearchParams(fields), headers: { Accept: 'text/plain' }, redirect: 'error' });
      result.textContent = await answer.text() || `The server refused (${answer.status}).`;
    } catch {
      result.textContent = 'The server did not answer. Nothing is known of the action.';
    }
    result.hidden = false;
  });

  connect();
})();
