/* Finding by name, and filters. */

function passShown(pass) {
    const f = ui.filter;
    return !f.types.has(typeOf(pass)) && !f.queues.has(pass.queue) &&
           (!f.text || pass.label.toLowerCase().includes(f.text) ||
            pass.uses.some((use) => use.res.label.toLowerCase().includes(f.text)));
}

function resShown(res) {
    const f = ui.filter;
    return !f.kinds.has(kindOf(res)) && (!f.text || res.label.toLowerCase().includes(f.text) ||
                                        res.uses.some((use) => use.pass.label.toLowerCase().includes(f.text)));
}

function kindOf(res) {
    return res.flags & RES_EXTERNAL ? 'import' : memoryKind(res);
}

/* Those that begin with the words first. */
function findNamed(words, limit) {
    const m = ui.model, wanted = words.toLowerCase(), found = [[], []];
    const look = (list, letter) => {
        for (const item of list) {
            const at = item.label.toLowerCase().indexOf(wanted);
            if (at >= 0 && found[at === 0 ? 0 : 1].length < limit)
                found[at === 0 ? 0 : 1].push(letter + item.id);
        }
    };
    look(m.passes, 'p');
    look(m.resources, 'r');
    return found[0].concat(found[1]).slice(0, limit);
}

function setUpSearch() {
    const input = document.getElementById('find'), list = document.getElementById('found');
    let keys = [], at = 0;
    const show = () => {
        keys = input.value ? findNamed(input.value, 12) : [];
        at = 0;
        list.replaceChildren(...keys.map((key, i) => {
            const item = itemOf(ui.model, key);
            const note = key[0] === 'p' ? (item.culled ? 'culled pass' : TYPE_NAMES[item.type] + ' pass')
                : sizeText(item);
            return el('li', { role: 'option', id: 'found-' + i, 'data-key': key, 'aria-selected': String(i === at) },
                      el('span.ref.' + refClass(key, item), null, item.label), el('span.muted', null, note));
        }));
        if (input.value && !keys.length)
            list.append(el('li.muted.empty', null, 'Nothing has this name.'));
        list.hidden = !input.value;
        input.setAttribute('aria-expanded', String(!list.hidden));
        mark();
    };
    const mark = () => {
        Array.from(list.children).forEach((li, i) => li.setAttribute('aria-selected', String(i === at)));
        input.setAttribute('aria-activedescendant', keys.length ? 'found-' + at : '');
    };
    const take = (key) => {
        input.value = '';
        show();
        select(key, { reveal: true });
    };
    input.addEventListener('input', show);
    input.addEventListener('keydown', (event) => {
        if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            at = (at + (event.key === 'ArrowDown' ? 1 : keys.length - 1)) % Math.max(1, keys.length);
            mark();
            event.preventDefault();
        } else if (event.key === 'Enter' && keys[at]) {
            take(keys[at]);
            input.blur();
        } else if (event.key === 'Escape') {
            input.value = '';
            show();
            input.blur();
        }
        event.stopPropagation();
    });
    list.addEventListener('mousedown', (event) => {
        const item = event.target.closest('[data-key]');
        if (item)
            take(item.dataset.key);
        event.preventDefault();
    });
    input.addEventListener('blur', () => (list.hidden = true));
    input.addEventListener('focus', show);
}

/* ---- filters ---- */

function setUpFilters() {
    const button = document.getElementById('filter'), host = document.getElementById('filters'), m = ui.model;
    const types = ['graphics', 'compute', 'transfer', 'host'].filter((t) => m.passes.some((p) => typeOf(p) === t));
    const kinds = MEMORY_KINDS.concat([['import', 'imports']])
        .filter(([k]) => m.resources.some((r) => kindOf(r) === k));
    if (m.culled.length)
        types.push('culled');
    const text = el('input', { type: 'search', placeholder: 'name contains …',
        'aria-label': 'Only what has this in its name' });
    text.addEventListener('input', () => {
        ui.filter.text = text.value.toLowerCase();
        refilter();
    });
    const group = (name, set, entries) => el('fieldset', null, el('legend', null, name),
                                             entries.map(([value, label, color]) => {
        const box = el('input', { type: 'checkbox', checked: true });
        box.addEventListener('change', () => {
            if (box.checked)
                set.delete(value);
            else
                set.add(value);
            refilter();
        });
        return el('label', null, box, color ? el('i.swatch.' + color) : null, label);
    }));
    host.replaceChildren(group('Passes', ui.filter.types, types.map((t) => [t, t, 'pass-' + t])),
                         group('Queues', ui.filter.queues, m.queues.map((q) => [q.id, q.label])),
                         group('Resources', ui.filter.kinds, kinds.map(([k, label]) => [k, label, 'res-' + k])), text);
    button.onclick = () => {
        host.hidden = !host.hidden;
        button.setAttribute('aria-expanded', String(!host.hidden));
    };
}

function refilter() {
    const f = ui.filter, on = f.types.size + f.queues.size + f.kinds.size + (f.text ? 1 : 0);
    document.getElementById('filter').classList.toggle('on', on > 0);
    document.getElementById('filter').textContent = on ? 'Filter · ' + on : 'Filter';
    gridView.arrange();
    if (ui.tab !== 'selection')
        showTab();
    repaint();
}
