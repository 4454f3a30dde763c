/* The live view (hd_view_serve): asks the engine that served this page for newer data, once a second, while the page is
 * looked at. What is selected stays selected, by name. */

const live = { on: true, serial: 0, timer: 0 };

function setUpLive() {
    if (location.protocol !== 'http:')
        return;
    const button = el('button', { 'aria-pressed': 'true', id: 'live', title: 'Follow the running engine' }, 'Live');
    button.addEventListener('click', () => {
        live.on = !live.on;
        button.setAttribute('aria-pressed', String(live.on));
        askForData();
    });
    byId('tools').prepend(button);
    askForData();
}

function askForData() {
    clearTimeout(live.timer);
    if (!live.on)
        return;
    live.timer = setTimeout(() => {
        if (document.hidden)
            return askForData();
        fetch('data?since=' + live.serial).then((answer) => {
            live.serial = Number(answer.headers.get('X-Serial')) || live.serial;
            return answer.status === 200 ? answer.json() : null;
        }).then((raw) => {
            showLive(raw, 'Live');
            askForData();
        }, () => showLive(null, 'Ended'));
    }, 1000);
}

function showLive(raw, state) {
    if (byId('live'))
        byId('live').textContent = state;
    if (raw && !ui.model)
        location.reload();
    else if (raw)
        takeNewPlan(raw);
}

/* The thing of the new plan that has the name of the one selected. */
function keyOfSame(model, key) {
    const item = itemOf(ui.model, key), list = key && { p: model.passes, r: model.resources }[key[0]];
    const same = item && list ? list.find((other) => other.label === item.label) : null;
    return same ? key[0] + same.id : null;
}

function takeNewPlan(raw) {
    const model = readPlan(raw), selected = keyOfSame(model, ui.selected);
    const whole = axis.hi - axis.lo >= axis.extent, lo = axis.lo / axis.extent, hi = axis.hi / axis.extent;
    const scrolled = byId('panel').scrollTop, tab = ui.tab;
    ui.model = model;
    ui.hover = ui.second = null;
    ui.selected = selected;
    ui.lit = selected ? litBy(model, selected) : null;
    byId('queues').querySelector('.stage').style.height = queueView.height() + 'px';
    setMode(ui.mode === 'measured' && !model.spans ? 'simulated' : ui.mode);
    if (!whole)
        axis.set(lo * axis.extent, hi * axis.extent);
    openTab(tab);
    byId('panel').scrollTop = scrolled;
    repaint();
}

/* Before the engine has shown a frame. */
function waitForFirst() {
    byId('name').textContent = 'Waiting for the first frame';
    setUpLive();
}
