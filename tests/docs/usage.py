"""What the command takes, as `quern help` says it."""
import re
import subprocess


class Usage:
    def __init__(self, quern):
        self._quern = quern
        self._texts = {}
        self.verbs = self._listed('Commands:', '')
        self._actions = {verb: self._listed('Actions:', verb) for verb in self.verbs}
        self.places = [verb for verb in self.verbs] + [f'{v} {a}' for v in self.verbs for a in self._actions[v]]

    def text(self, place):
        if place not in self._texts:
            self._texts[place] = subprocess.run([self._quern, 'help', *place.split()], capture_output=True, text=True,
                                                check=True).stdout
        return self._texts[place]

    def _section(self, title, place):
        found = re.search(r'^%s\n((?: .*\n?)+)' % title, self.text(place), re.MULTILINE)
        return found.group(1) if found else ''

    def _listed(self, title, place):
        return re.findall(r'^  ([a-z]+) ', self._section(title, place), re.MULTILINE)

    def examples(self, place):
        return re.findall(r'^  (\S.*)$', self._section('Examples:', place), re.MULTILINE)

    def options(self, place):
        return set(re.findall(r'(?<![\w-])-{1,2}[a-z][a-z0-9-]*', self.text(place)))

    def any_options(self):
        return set().union(*(self.options(place) for place in self.places))

    def faults(self, line):
        """What is wrong in `line`, which begins with `quern`: an unknown command, action or option."""
        words = line.split()[1:]
        if not words or not re.fullmatch('[a-z]+', words[0]):
            return []
        if words[0] not in self.verbs:
            return [f'no command {words[0]}']
        place = words[0]
        if len(words) > 1 and words[1] in self._actions[place]:
            place += ' ' + words[1]
        used = {word.split('=')[0] for word in words if re.match(r'--?[a-z]', word)}
        return [f'quern {place} has no {option}' for option in sorted(used - self.options(place))]
