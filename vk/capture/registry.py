#!/usr/bin/env python3
"""registry.py VK_XML OUT_C: makes the tables of call.h from the registry of the Vulkan headers.

The C file holds, in the order in which it is written:
  - for each structure that a function below may be given, and for the arguments of each command (struct args_NAME): its
    fields that are more than bytes (pointers, handles, chains, padding), as hdi_call_field, and small functions that
    count the elements of its arrays
  - hdi_call_types, all of them by name, and hdi_call_chain_find
  - for each function a hook and, of commands, an invoker
  - hdi_calls, all of them by name. The other names of a function (KHR, EXT) have its hook
  - hdi_call_misses, hooks of the functions that are left out

What cannot be carried to another process (device addresses, pointers of the host to what has no known size, functions,
unions that hold such) is left out, with every structure and function that needs it. Structures of a pNext chain that
cannot be carried are not in hdi_call_chain_find.

parse() reads structures and functions as lists of members, Carrier decides which members are fields and of what kind,
emit_*() write C.
"""
import re
import sys
import xml.etree.ElementTree as ET
from collections import namedtuple

# ---- what is chosen ----

# The stream replays barriers, events and secondary command buffers from its own lists; labels are names. The elements
# of vkCmdDrawMulti* stand apart by an argument.
COMMANDS_LEFT = re.compile('PipelineBarrier|SetEvent|ResetEvent|WaitEvents|ExecuteCommands|Debug|DrawMulti|Video')
# Semaphores, fences and events are lists of the stream; the others have no content that a command sees.
CREATIONS_LEFT = re.compile('Semaphore|Fence|Event|CommandPool|Cache|PrivateData|Video')
# Commands of the host that have an invoker, and no hook.
HOST_COMMANDS = ['vkResetQueryPool']
# What the stream does not say by its own lists, though, and functions of the host that other processes cannot repeat:
# these have a hook that tells that they are missed, as have all other commands that are left out.
COMMANDS_TOLD = re.compile('PipelineBarrier|(Set|Wait|Reset)Events?2|ExecuteCommands|Debug')
COMMANDS_MADE_PLAIN = ['vkCmdPushDescriptorSetWithTemplateKHR'] # vk/capture has a hook of its own
HOST_MISSED = ['vkGetBufferDeviceAddress', 'vkGetAccelerationStructureDeviceAddressKHR', 'vkGetDescriptorEXT',
               'vkQueueBindSparse', 'vkMapMemory2', 'vkMapMemory2KHR', 'vkCopyMemoryToImage', 'vkCopyMemoryToImageEXT',
               'vkCopyImageToMemory', 'vkCopyImageToMemoryEXT', 'vkTransitionImageLayout', 'vkTransitionImageLayoutEXT']
# Structures that vk/capture encodes by hand.
EXTRA_TYPES = ['VkInstanceCreateInfo', 'VkDeviceCreateInfo', 'VkPhysicalDeviceMemoryProperties', 'VkMemoryAllocateInfo',
               'VkDescriptorSetAllocateInfo', 'VkGraphicsPipelineCreateInfo', 'VkComputePipelineCreateInfo',
               'VkWriteDescriptorSet', 'VkCopyDescriptorSet']
TYPES_LEFT = {'VkDeviceAddress', 'VkRemoteAddressNV', 'VkImportMemoryFdInfoKHR'}

# Members that Vulkan ignores under a condition, and which may then hold anything: when they are valid. s: the
# structure.
GRAPHICS = 'VkGraphicsPipelineCreateInfo'
DERIVATIVE = 's->flags & VK_PIPELINE_CREATE_DERIVATIVE_BIT'
VALID = {
    'VkBufferCreateInfo.pQueueFamilyIndices': 's->sharingMode == VK_SHARING_MODE_CONCURRENT',
    'VkImageCreateInfo.pQueueFamilyIndices': 's->sharingMode == VK_SHARING_MODE_CONCURRENT',
    'VkSwapchainCreateInfoKHR.pQueueFamilyIndices': 's->imageSharingMode == VK_SHARING_MODE_CONCURRENT',
    'VkFramebufferCreateInfo.pAttachments': '!(s->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT)',
    'VkRenderingAttachmentInfo.resolveImageView': 's->resolveMode != VK_RESOLVE_MODE_NONE',
    'VkPipelineSampleLocationsStateCreateInfoEXT.sampleLocationsInfo': 's->sampleLocationsEnable',
    'VkDescriptorSetLayoutBinding.pImmutableSamplers': 'hdi_call_descriptor(s->descriptorType) & HDI_CALL_SAMPLER',
    'VkWriteDescriptorSet.dstSet': '!above',  # it is pushed by the command whose arguments lead to it
    'VkWriteDescriptorSet.pImageInfo': 'hdi_call_descriptor(s->descriptorType) & (HDI_CALL_SAMPLER | HDI_CALL_IMAGE)',
    'VkWriteDescriptorSet.pBufferInfo': 'hdi_call_descriptor(s->descriptorType) & HDI_CALL_BUFFER',
    'VkWriteDescriptorSet.pTexelBufferView': 'hdi_call_descriptor(s->descriptorType) & HDI_CALL_TEXELS',
    'VkDescriptorUpdateTemplateCreateInfo.descriptorSetLayout':
        's->templateType == VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET',
    'VkDescriptorUpdateTemplateCreateInfo.pipelineLayout':
        's->templateType != VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET',
    'VkComputePipelineCreateInfo.basePipelineHandle': DERIVATIVE,
    GRAPHICS + '.basePipelineHandle': DERIVATIVE,
    GRAPHICS + '.pVertexInputState': 'hdi_call_pipeline(s) & HDI_CALL_VERTEX_INPUT',
    GRAPHICS + '.pInputAssemblyState': 'hdi_call_pipeline(s) & HDI_CALL_INPUT_ASSEMBLY',
    GRAPHICS + '.pTessellationState': 'hdi_call_pipeline(s) & HDI_CALL_TESSELLATION',
    GRAPHICS + '.pViewportState': 'hdi_call_pipeline(s) & HDI_CALL_VIEWPORT',
    GRAPHICS + '.pRasterizationState': 'hdi_call_pipeline(s) & HDI_CALL_RASTERIZATION',
    GRAPHICS + '.pMultisampleState': 'hdi_call_pipeline(s) & HDI_CALL_MULTISAMPLE',
    GRAPHICS + '.pDepthStencilState': 'hdi_call_pipeline(s) & HDI_CALL_DEPTH_STENCIL',
    GRAPHICS + '.pColorBlendState': 'hdi_call_pipeline(s) & HDI_CALL_COLOR_BLEND',
}
# The same by p, the VkWriteDescriptorSet whose pointers lead to the structure, or null.
VALID_IN_WRITE = {
    'VkDescriptorImageInfo.sampler': '!p || hdi_call_descriptor(p->descriptorType) & HDI_CALL_SAMPLER',
    'VkDescriptorImageInfo.imageView': '!p || hdi_call_descriptor(p->descriptorType) & HDI_CALL_IMAGE',
}
# The same by p, the pipeline whose pointers and chains lead to the structure, or null: when none of
# these states is dynamic.
NOT_DYNAMIC = {
    'VkPipelineViewportStateCreateInfo.pViewports': ['VIEWPORT', 'VIEWPORT_WITH_COUNT'],
    'VkPipelineViewportStateCreateInfo.pScissors': ['SCISSOR', 'SCISSOR_WITH_COUNT'],
    'VkPipelineMultisampleStateCreateInfo.pSampleMask': ['SAMPLE_MASK_EXT'],
    'VkPipelineDiscardRectangleStateCreateInfoEXT.pDiscardRectangles': ['DISCARD_RECTANGLE_EXT'],
    'VkPipelineViewportWScalingStateCreateInfoNV.pViewportWScalings': ['VIEWPORT_W_SCALING_NV'],
    'VkPipelineViewportExclusiveScissorStateCreateInfoNV.pExclusiveScissors': ['EXCLUSIVE_SCISSOR_NV'],
    'VkPipelineViewportShadingRateImageStateCreateInfoNV.pShadingRatePalettes': ['VIEWPORT_SHADING_RATE_PALETTE_NV'],
}

# ---- the registry ----

# levels: of pointers; dim: elements of an array that stands in the structure, or 0; text: it is one string or several.
Member = namedtuple('Member', 'name type decl levels dim bits text count stype')
Struct = namedtuple('Struct', 'name members union extends')
Command = namedtuple('Command', 'name result members')
# All by name. types: the category of each; handles: the VkObjectType; same: what another name stands for; declared: the
# names in vulkan_core.h.
Registry = namedtuple('Registry', 'types handles structs commands same declared')


def is_vulkan(element, attribute='api'):
    return 'vulkan' in element.get(attribute, 'vulkan').split(',')


def parse_member(element, constants):
    decl = ' '.join(''.join(text_of(element)).split())
    name, kind = element.findtext('name'), element.findtext('type')
    dim = 0
    for length in re.findall(r'\[(\w+)\]', decl):
        dim = (dim or 1) * (int(length) if length.isdigit() else constants[length])
    length = element.get('altlen') or element.get('len') or ''
    parts = length.split(',')
    return Member(name, kind, decl, decl.count('*'), dim, ':' in decl,
                  parts[-1] == 'null-terminated', '' if parts[0] in ('null-terminated', '1') else parts[0],
                  element.get('values', ''))


def text_of(element):
    """Texts of an element and those below it, without comments."""
    yield element.text or ''
    for child in element:
        if child.tag != 'comment':
            yield from text_of(child)
        yield child.tail or ''


def parse(path):
    root = ET.parse(path).getroot()
    constants = {e.get('name'): int(e.get('value')) for e in root.iterfind('enums/enum')
                 if (e.get('value') or '').isdigit()}
    r = Registry({}, {}, {}, {}, {}, set())
    for e in filter(is_vulkan, root.iterfind('types/type')):
        name = e.get('name') or e.findtext('name') or e.findtext('proto/name')
        if e.get('alias'):
            r.same[name] = e.get('alias')
            continue
        r.types[name] = e.get('category')
        if e.get('category') == 'handle':
            r.handles[name] = e.get('objtypeenum')
        if e.get('category') in ('struct', 'union'):
            members = [parse_member(m, constants) for m in e.iterfind('member') if is_vulkan(m)]
            r.structs[name] = Struct(name, members, e.get('category') == 'union',
                                     (e.get('structextends') or '').split(','))
        if e.get('category') == 'bitmask' and e.findtext('type') == 'VkFlags64':
            r.types[name] = 'flags64'
    for e in filter(is_vulkan, root.iterfind('commands/command')):
        if e.get('alias'):
            r.same[e.get('name')] = e.get('alias')
        else:
            members = [parse_member(m, constants) for m in e.iterfind('param') if is_vulkan(m)]
            r.commands[e.findtext('proto/name')] = Command(e.findtext('proto/name'), e.findtext('proto/type'), members)
    blocks = list(filter(is_vulkan, root.iterfind('feature')))
    blocks += [e for e in root.iterfind('extensions/extension')
               if is_vulkan(e, 'supported') and not e.get('platform') and e.get('provisional') != 'true']
    for block in blocks:
        for require in filter(is_vulkan, block.iterfind('require')):
            r.declared.update(e.get('name') for e in require if e.tag in ('type', 'command'))
    return r


# ---- what is carried ----

# kind: HDI_CALL_ and this. count, valid: names of C functions, or NULL.
Field = namedtuple('Field', 'name offset kind levels text bytes object type count valid')
SIZES = {'char': 1, 'uint8_t': 1, 'int8_t': 1, 'uint16_t': 2, 'int16_t': 2, 'uint64_t': 8, 'int64_t': 8, 'double': 8,
         'size_t': 8, 'VkDeviceSize': 8, 'VkDeviceAddress': 8, 'VkFlags64': 8, 'void': 1}


def type_at(name):
    return f'&hdi_call_types[TYPE_{name}]'


def dynamic_conditions():
    conditions = {key: ' && '.join(f'!hdi_call_dynamic(p, VK_DYNAMIC_STATE_{state})' for state in states)
                  for key, states in NOT_DYNAMIC.items()}
    # Only with all three of them.
    conditions['VkPipelineColorBlendStateCreateInfo.pAttachments'] = ' || '.join(
        f'!hdi_call_dynamic(p, VK_DYNAMIC_STATE_COLOR_{state}_EXT)'
        for state in ('BLEND_ENABLE', 'BLEND_EQUATION', 'WRITE_MASK'))
    return conditions


class Left(Exception):
    """It cannot be carried."""


class Carrier:
    def __init__(self, registry):
        self.registry = registry
        self.functions = {}  # of C: the name -> its text
        self.types = {}      # the name of a structure or a command -> its fields
        self.left = set()    # names of structures
        self.valid = {}      # STRUCTURE.MEMBER -> the type of p or None, a condition
        for over, table in ((None, VALID), ('VkWriteDescriptorSet', VALID_IN_WRITE), (GRAPHICS, dynamic_conditions())):
            for key, condition in table.items():
                name, member = key.split('.')
                self.valid[registry.same.get(name, name) + '.' + member] = over, condition

    def size(self, kind):
        """Bytes and alignment of a type, as compilers for machines of 64 bits lay it out."""
        struct = self.registry.structs.get(kind)
        if struct:
            return self.layout(struct)[1:]
        category = self.registry.types.get(kind)
        bytes_ = 8 if category in ('handle', 'funcpointer', 'flags64') else SIZES.get(kind, 4)
        return bytes_, bytes_

    def layout(self, struct):
        """Offset of each member, bytes, alignment."""
        offsets, at, most = [], 0, 1
        for m in struct.members:
            bytes_, align = (8, 8) if m.levels else self.size(self.registry.same.get(m.type, m.type))
            at = 0 if struct.union else (at + align - 1) // align * align
            offsets.append((at, bytes_ * (m.dim or 1)))
            most = max(most, align)
            at += bytes_ * (m.dim or 1)
        end = max((o + b for o, b in offsets), default=0)
        return offsets, (end + most - 1) // most * most, most

    def function(self, result, name, parameters, *lines):
        body = ''.join(f'    {x};\n' for x in lines)
        self.functions[name] = f'static {result} {name}({parameters})\n{{\n{body}}}\n'
        return name

    def count_of(self, struct, cname, m):
        """A function for the elements of an array: m.count is an expression of members, as in C."""
        names = {x.name for x in struct.members}
        if '->' in m.count or 'latexmath' in m.count:
            raise Left
        expression = re.sub(r'[A-Za-z_]\w*', lambda x: f'(uint64_t)s->{x[0]}' if x[0] in names else x[0], m.count)
        return self.function('uint64_t', f'count_{struct.name}_{m.name}', 'const void *structure',
                             f'const {cname} *s = structure' if 's->' in expression else '(void)structure',
                             f'return {expression}')

    def valid_of(self, struct, m):
        if f'{struct.name}.{m.name}' not in self.valid:
            return 'NULL'
        over, condition = self.valid[f'{struct.name}.{m.name}']
        lines = [f'const {struct.name} *s = structure', '(void)s', '(void)above']
        if over:
            lines = [f'const {over} *p = hdi_call_above_find(above, {type_at(over)})', '(void)structure']
        return self.function('bool', f'valid_{struct.name}_{m.name}',
                             'const void *structure, const hdi_call_above *above', *lines, f'return {condition}')

    def field(self, struct, cname, m, offset):
        """What a member is, or None where it is its bytes."""
        kind = self.registry.same.get(m.type, m.type)
        category = self.registry.types.get(kind)
        if kind in TYPES_LEFT or category == 'funcpointer' or m.bits or kind in self.left:
            raise Left
        field = Field(m.name, offset, 'PLAIN', 0, 0, self.size(kind)[0], '0', None, 'NULL', self.valid_of(struct, m))
        if kind == 'VkAllocationCallbacks' or m.name == 'pUserData':
            return field._replace(kind='DROPPED', bytes=8)
        if m.name == 'pNext':
            return field._replace(kind='CHAIN', bytes=8)
        if category == 'handle':
            field = field._replace(kind='HANDLE', object=self.registry.handles[kind])
            if kind in ('VkDevice', 'VkQueue', 'VkCommandBuffer'):
                field = field._replace(kind='COMMANDS')
        elif category in ('struct', 'union') and self.fields(kind):
            field = field._replace(kind='STRUCT', type=kind)
        elif m.levels and (category is None and kind.startswith('Std') or kind == 'void' and not m.count):
            raise Left
        if m.levels:
            if m.levels > 2 or field.kind == 'COMMANDS' or (m.levels == 2 and kind == 'void'):
                raise Left
            count = self.count_of(struct, cname, m) if m.count else 'NULL'
            return field._replace(levels=m.levels, text=int(m.text), count=count)
        if field.kind == 'PLAIN':
            return None
        if m.dim:
            field = field._replace(count=self.count_of(struct, cname, m._replace(count=str(m.dim))))
        return field

    def fields(self, name):
        """Of a structure by name; raises Left."""
        if name in self.left:
            raise Left
        if name not in self.types:
            self.types[name] = []  # a structure that points to its like
            try:
                self.types[name] = self.fields_of(self.registry.structs[name], name)
            except Left:
                del self.types[name]
                self.left.add(name)
                raise
        return self.types[name]

    def fields_of(self, struct, cname):
        offsets, bytes_, _ = self.layout(struct)
        fields = []
        ends = [o for o, _ in offsets[1:]] + [bytes_]
        for m, (offset, size), end in zip(struct.members, offsets, ends):
            field = self.field(struct, cname, m, offset)
            if field:
                fields.append(field)
            if not struct.union and offset + size < end:
                fields.append(Field('padding', offset + size, 'PADDING', 0, 0, end - offset - size, '0', None, 'NULL',
                                    'NULL'))
        if struct.union and fields:
            raise Left
        return fields

    def close(self):
        """The structures that may stand in the chains of those that are there."""
        more = True
        while more:
            more = False
            for s in self.registry.structs.values():
                if s.name in self.types or s.name in self.left or s.name not in self.registry.declared:
                    continue
                if any(e in self.types for e in s.extends):
                    more = True
                    try:
                        self.fields(s.name)
                    except Left:
                        pass


def choose(registry, carrier):
    """Types of carrier, and the list of (function, its structure): creations have the name of their create info."""
    calls, arguments = [], {}
    for name in EXTRA_TYPES:
        carrier.fields(name)
    for c in registry.commands.values():
        types = [m.type for m in c.members]
        is_command = (c.name.startswith('vkCmd') and not COMMANDS_LEFT.search(c.name)) or c.name in HOST_COMMANDS
        is_creation = (c.name.startswith('vkCreate') and not CREATIONS_LEFT.search(c.name) and len(types) == 4 and
                       types[0] == 'VkDevice' and 'CreateInfo' in types[1] and types[3] in registry.handles)
        if c.name not in registry.declared or not (is_command or is_creation):
            continue
        try:
            if is_creation:
                carrier.fields(c.members[1].type)
                calls.append((c, c.members[1].type))
            else:
                # An array is a pointer as an argument.
                members = [m._replace(levels=1, dim=0, count=str(m.dim)) if m.dim else m for m in c.members]
                arguments[c.name] = Struct(c.name, members, False, [])
                carrier.types[c.name] = carrier.fields_of(arguments[c.name], 'args_' + c.name)
                calls.append((c, c.name))
        except Left:
            pass
    carrier.close()
    return calls, {name: s for name, s in arguments.items() if name in carrier.types}


# ---- C ----

def declaration(m):
    """Of a member of a structure of arguments."""
    return re.sub(r'(\w+)\[\w+\]', r'*\1', m.decl) if '[' in m.decl else m.decl


def enumerators(prefix, names):
    return ['enum {', *(f'    {prefix}{name},' for name in names), '};\n']


def emit_types(out, registry, carrier, arguments):
    for s in arguments.values():
        out.append(f'typedef struct args_{s.name} {{')
        out.extend(f'    {declaration(m)};' for m in s.members)
        out.append(f'}} args_{s.name};\n')
    names = sorted(carrier.types)
    used = {f for name in names for field in carrier.types[name] for f in (field.count, field.valid)}
    out.extend(enumerators('TYPE_', names))
    out.extend(text for name, text in carrier.functions.items() if name in used)
    rows, chain = [], []
    for name in names:
        struct = arguments.get(name) or registry.structs[name]
        cname = 'args_' + name if name in arguments else name
        bytes_ = carrier.layout(struct)[1]
        stype = struct.members[0].stype if struct.members[0].name == 'sType' else ''
        fields = carrier.types[name]
        out.append(f'_Static_assert(sizeof({cname}) == {bytes_}, "{name}");')
        if fields:
            out.append(f'static const hdi_call_field fields_{name}[] = {{')
            for f in fields:
                kind = type_at(f.type) if f.type else 'NULL'
                offset = f.offset if f.kind == 'PADDING' else f'offsetof({cname}, {f.name})'
                out.append(f'    {{{offset}, HDI_CALL_{f.kind}, {f.levels}, {f.text}, {f.bytes}, {f.object}, {kind}, '
                           f'{f.count}, {f.valid}}},')
            out.append('};')
        rows.append(f'    {{"{name}", {bytes_}, {stype or "UINT32_MAX"}, '
                    f'{"fields_" + name if fields else "NULL"}, {len(fields)}}},')
        if stype:
            chain.append(f'    case {stype}:\n        return {type_at(name)};')
    out.append('\nconst hdi_call_type hdi_call_types[] = {\n' + '\n'.join(rows) + '\n};')
    out.append(f'const uint32_t hdi_call_type_count = {len(names)};\n')
    out += ['const hdi_call_type *hdi_call_chain_find(uint32_t stype)\n{\n    switch (stype) {', *chain,
            '    default:\n        return NULL;\n    }\n}\n']


def emit_calls(out, registry, calls, arguments):
    rows = {}
    other = {}
    for name, same in registry.same.items():
        other.setdefault(same, []).append(name)
    for c, type_name in calls:
        n = c.name
        parameters = ', '.join(m.decl for m in c.members)
        passed = ', '.join(m.name for m in c.members)
        hook, invoke, makes = 'NULL', 'NULL', '0'
        if n in arguments:
            invoke = 'invoke_' + n
            given = ', '.join('a->' + m.name for m in c.members)
            out.append(f'static void {invoke}(PFN_vkVoidFunction function, const void *arguments)\n{{\n'
                       f'    const args_{n} *a = arguments;\n    ((PFN_{n})function)({given});\n}}\n')
        else:
            makes = registry.handles[c.members[3].type]
        if n not in HOST_COMMANDS:
            hook = '(PFN_vkVoidFunction)hook_' + n
            out.append(f'static PFN_vkVoidFunction next_{n};\n'
                       f'static VKAPI_ATTR {c.result} VKAPI_CALL hook_{n}({parameters})\n{{')
            if n in arguments:
                ret = 'return ' if c.result != 'void' else ''
                out.append(f'    const args_{n} a = {{{passed}}};\n'
                           f'    hdi_call_recorded({c.members[0].name}, &hdi_calls[CALL_{n}], &a);\n'
                           f'    {ret}((PFN_{n})next_{n})({passed});\n}}\n')
            else:
                out.append(f'    VkResult result = ((PFN_{n})next_{n})({passed});\n    if (result == VK_SUCCESS)\n'
                           f'        hdi_call_made(&hdi_calls[CALL_{n}], (uint64_t)(uintptr_t)*{c.members[3].name}, '
                           f'{c.members[1].name});\n'
                           f'    return result;\n}}\n')
        next_ = f'&next_{n}' if hook != 'NULL' else 'NULL'
        for name in [n] + [x for x in other.get(n, []) if x in registry.declared]:
            rows[name] = (f'    {{"{name}", {type_at(type_name)}, {hook}, {next_}, {invoke}, '
                          f'{makes}}},')
    order = sorted(rows)
    out[1:1] = enumerators('CALL_', order)
    out.append('const hdi_call hdi_calls[] = {\n' + '\n'.join(rows[name] for name in order) + '\n};')
    out.append(f'const uint32_t hdi_call_count = {len(order)};')


def emit_missed(out, registry, calls):
    known, rows, other = {c.name for c, _ in calls}, [], {}
    for name, same in registry.same.items():
        other.setdefault(same, []).append(name)
    for c in registry.commands.values():
        n = c.name
        is_command = n.startswith('vkCmd') and not COMMANDS_TOLD.search(n) and n not in COMMANDS_MADE_PLAIN
        if n not in registry.declared or n in known or not (is_command or n in HOST_MISSED):
            continue
        parameters = ', '.join(m.decl for m in c.members)
        passed = ', '.join(m.name for m in c.members)
        ret = 'return ' if c.result != 'void' else ''
        out.append(f'static PFN_vkVoidFunction next_{n};\n'
                   f'static VKAPI_ATTR {c.result} VKAPI_CALL hook_{n}({parameters})\n{{\n'
                   f'    hdi_call_missed({c.members[0].name if is_command else "NULL"}, "{n}");\n'
                   f'    {ret}((PFN_{n})next_{n})({passed});\n}}\n')
        rows += [f'    {{"{name}", (PFN_vkVoidFunction)hook_{n}, &next_{n}}},'
                 for name in [n] + [x for x in other.get(n, []) if x in registry.declared]]
    out.append('const hdi_call_miss hdi_call_misses[] = {\n' + '\n'.join(rows) + '\n};')
    out.append(f'const uint32_t hdi_call_miss_count = {len(rows)};')


def main():
    registry = parse(sys.argv[1])
    carrier = Carrier(registry)
    calls, arguments = choose(registry, carrier)
    missing = set(carrier.valid) - {key for key in carrier.valid if key.split('.')[0] in carrier.types and
                                    'valid_' + key.replace('.', '_') in carrier.functions}
    if missing:
        sys.exit(f'registry.py: members that VALID has and the tables have not: {missing}')
    out = ['/* Made by vk/capture/registry.py from vk.xml. */\n#include "call_tables.h"\n']
    emit_types(out, registry, carrier, arguments)
    emit_calls(out, registry, calls, arguments)
    emit_missed(out, registry, calls)
    with open(sys.argv[2], 'w', encoding='utf-8') as file:
        file.write('\n'.join(out) + '\n')


main()
