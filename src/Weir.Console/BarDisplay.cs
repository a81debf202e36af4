using System.Runtime.CompilerServices;
using System.Text;
using Spectre.Console;
using Spectre.Console.Rendering;

namespace Weir.Terminal;

// The protocol with the terminal.
//
// Bars are the last lines of what is written, and the cursor stands below them at the start of a line, visible. So a frame begins by going up as many lines as
// the last one has drawn, draws over them, and erases what is left. It is one write. A program that is killed between two of these leaves whole lines, and
// nothing that must be put back. Bars are cut at the edge in the same write, so that a window which has just become narrower does not count one line as two.
//
// A bar that has ended becomes a line of text above those that go on, which is broken where it is longer than the terminal is wide.
//
// While there are bars, writers in the place of Console.Out and Console.Error take the frame away before the program's text (LinesAbove). After a text that
// does not end its line, there is no frame until the rest has come, because a frame would begin in the middle of a line.
//
// One lock protects all of it, and the terminal is written under it: frames and texts must not mix. A terminal may be stopped for long (Ctrl-S). So a report
// that finds the lock taken is not drawn, and the last one of a run waits for a second at most; only the program's own writes wait as long as they would
// without bars.
//
// Our lock is the innermost of all. The platform's writers lock themselves, then Console.Out, for each text; and Console.Out is locked to tell the size of the
// window. A thread of the program comes to us with these locks in its hands, and others hold a writer that they kept from before the first bar (a logger). So
// under our lock the terminal is written past the platform's writers (TerminalOutput), and the size is the one that a report has read before it.

/// <summary>All bars of one console.</summary>
internal sealed class BarDisplay
{
    // A frame fits the screen, with a line for the cursor.
    private const int NotBars = 2;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LeastPause = TimeSpan.FromMilliseconds(40);
    private static readonly ConditionalWeakTable<IAnsiConsole, BarDisplay> Displays = [];
    private static readonly Lazy<IAnsiConsole> ErrorConsole = new(static () => AnsiConsole.Create(new AnsiConsoleSettings { Out = new TerminalOutput() }));

    // A monitor, because Lock of .NET 8 has no time limit.
    private readonly object _lock = new();
    private readonly IAnsiConsole _console;
    private readonly TimeProvider _time;

    // Under the lock.
    private readonly List<(object Owner, IReadOnlyList<BarState> Bars)> _shown = [];
    private int[] _drawn = [];
    private long _drawnAt;
    private bool _isInLine;
    private LinesAbove? _lines;

    private BarDisplay(IAnsiConsole console, TimeProvider time)
    {
        _console = console;
        _time = time;
        IsLive = console.Profile.Capabilities.Ansi && console.Profile.Out.IsTerminal;
    }

    /// <summary>Whether bars can be drawn. Otherwise, each report is a line.</summary>
    public bool IsLive { get; }

    /// <summary>Whether the program's own lines are kept above the bars.</summary>
    public bool KeepsLinesAbove { get; private set; }

    /// <summary>The display of a console.</summary>
    public static BarDisplay Of(ConsoleProgressOptions options)
    {
        BarDisplay display = Displays.GetValue(options.Console ?? ErrorConsole.Value, console => new BarDisplay(console, options.TimeProvider));
        display.KeepsLinesAbove = options is { Console: null, KeepsLinesAbove: true };
        return display;
    }

    /// <summary>Shows the bars of an owner, in place of those that it had.</summary>
    public void Show(object owner, IReadOnlyList<BarState> bars) => Report(TimeSpan.Zero, () =>
    {
        if (IsLive)
        {
            int at = _shown.FindIndex(shown => shown.Owner == owner);
            if (at < 0)
            {
                _shown.Add((owner, bars));
            }
            else
            {
                _shown[at] = (owner, bars);
            }

            if (_drawn.Length == 0 || _time.GetElapsedTime(_drawnAt) >= LeastPause)
            {
                Draw([]);
            }
        }
        else
        {
            Write(bars.Select(static bar => bar.Sentence(isEnd: false)));
        }
    });

    /// <summary>The bars of an owner have ended.</summary>
    /// <param name="owner">Whose they are.</param>
    /// <param name="last">What stays of them, as a line; null for nothing.</param>
    public void End(object owner, BarState? last) => Report(Patience, () =>
    {
        _shown.RemoveAll(shown => shown.Owner == owner);
        string[] lines = last is null ? [] : [last.Sentence(isEnd: true)];
        if (IsLive)
        {
            Draw(lines);
        }
        else
        {
            Write(lines);
        }
    });

    /// <summary>Writes a text of the program, above the bars.</summary>
    public void WriteAbove(TextWriter writer, ReadOnlySpan<char> text)
    {
        if (text.IsEmpty)
        {
            return;
        }

        lock (_lock)
        {
            Try(TimeSpan.Zero, Erase);
            writer.Write(text);
            writer.Flush();
            _isInLine = text[^1] != '\n';
            if (!_isInLine && _time.GetElapsedTime(_drawnAt) >= LeastPause)
            {
                Try(TimeSpan.Zero, () => Draw([]));
            }
        }
    }

    private void Report(TimeSpan patience, Action draw)
    {
        (_console.Profile.Out as TerminalOutput)?.ReadSize();
        Try(patience, draw);
    }

    /// <summary>Draws, if that is possible: an output that cannot be written any more fails neither a run nor the program.</summary>
    private void Try(TimeSpan patience, Action draw)
    {
        if (!Monitor.TryEnter(_lock, patience))
        {
            return;
        }

        try
        {
            draw();
        }
        catch (Exception)
        {
            // See above.
        }
        finally
        {
            Monitor.Exit(_lock);
        }
    }

    private void Write(IEnumerable<string> lines)
    {
        foreach (string line in lines)
        {
            // No renderable, which would be broken at the width that the output is taken to have.
            _console.Profile.Out.Writer.WriteLine(line);
        }

        _console.Profile.Out.Writer.Flush();
    }

    private void Erase()
    {
        if (_drawn.Length > 0)
        {
            _console.Write(new Frame([Segment.Control(UpTo(_console.Profile.Width) + "\e[J")]));
            _drawn = [];
        }
    }

    private void Draw(string[] above)
    {
        if (_isInLine && above.Length == 0)
        {
            return;
        }

        int width = Math.Max(1, _console.Profile.Width - 1);
        List<BarState> bars = [.. _shown.SelectMany(static shown => shown.Bars)];
        int most = Math.Max(1, _console.Profile.Height - NotBars);
        IReadOnlyList<IReadOnlyList<Segment>> lines =
            bars.Count == 0 ? [] : BarFrame.Lines(bars[..Math.Min(bars.Count, most)], width, _console.Profile.Capabilities.Unicode);
        if (bars.Count > most)
        {
            lines = [.. lines.Take(most - 1), [new Segment($"and {BarState.Grouped(bars.Count - most + 1)} more")]];
        }

        // A line that stays is broken at the edge as any other, so that nothing of it is lost. What it stands on is erased first, because some terminals take the
        // character at the edge away with what follows it.
        List<Segment> frame = [Segment.Control((_isInLine ? "\n" : "") + UpTo(width + 1) + (above.Length > 0 ? "\e[J" : ""))];
        frame.AddRange(above.SelectMany(static line => (Segment[])[new Segment(line), Segment.Control("\n")]));
        frame.Add(Segment.Control("\e[?7l"));
        foreach (IReadOnlyList<Segment> line in lines)
        {
            frame.AddRange(line);
            frame.Add(Segment.Control("\e[K\n"));
        }

        // The writers come before the first bar, and go after the last.
        if (lines.Count > 0 && KeepsLinesAbove)
        {
            _lines ??= LinesAbove.Install(this);
        }

        frame.Add(Segment.Control("\e[J\e[?7h"));
        _console.Write(new Frame(frame));
        _isInLine = false;
        _drawn = [.. lines.Select(static line => Segment.CellCount(line))];
        _drawnAt = _time.GetTimestamp();
        if (lines.Count == 0)
        {
            _lines?.Remove();
            _lines = null;
        }
    }

    /// <summary>From below the frame to its first line. A terminal that has become narrower has broken the lines that do not fit.</summary>
    private string UpTo(int width)
    {
        int rows = _drawn.Sum(cells => Math.Max(1, (cells + width - 1) / width));
        return rows == 0 ? "\r" : $"\r\e[{rows}A";
    }

    /// <summary>What is written as it is.</summary>
    private sealed class Frame(IEnumerable<Segment> segments) : IRenderable
    {
        public Measurement Measure(RenderOptions options, int maxWidth) => new(maxWidth, maxWidth);

        public IEnumerable<Segment> Render(RenderOptions options, int maxWidth) => segments;
    }
}

/// <summary>The writers that stand in the place of <see cref="Console.Out"/> and <see cref="Console.Error"/> while there are bars.</summary>
internal sealed class LinesAbove
{
    private readonly List<(TextWriter Installed, TextWriter Original, Func<TextWriter> Current, Action<TextWriter> Set)> _writers = [];

    public static LinesAbove Install(BarDisplay display)
    {
        LinesAbove lines = new();
        if (!TerminalOutput.IsOfThePlatform(Console.Error) || !(Console.IsOutputRedirected || TerminalOutput.IsOfThePlatform(Console.Out)))
        {
            // A writer of the program must get its texts. It may pass them on to the platform's under a lock of its own, which would then stand within ours.
            return lines;
        }

        if (!Console.IsOutputRedirected)
        {
            lines.Add(display, TerminalStream.Output, static () => Console.Out, Console.SetOut);
        }

        lines.Add(display, TerminalStream.Error, static () => Console.Error, Console.SetError);
        return lines;
    }

    /// <summary>Puts back what was there, unless the program has put something else there meanwhile.</summary>
    public void Remove()
    {
        foreach ((TextWriter installed, TextWriter original, Func<TextWriter> current, Action<TextWriter> set) in _writers)
        {
            if (ReferenceEquals(current(), installed))
            {
                set(original);
            }
        }
    }

    private void Add(BarDisplay display, int descriptor, Func<TextWriter> current, Action<TextWriter> set)
    {
        TextWriter original = current();
        set(new Writer(display, original, descriptor));
        _writers.Add((current(), original, current, set));
    }

    private sealed class Writer(BarDisplay display, TextWriter original, int descriptor) : TextWriter(original.FormatProvider)
    {
        private readonly TextWriter _terminal = TerminalOutput.Past(original, descriptor);

        public override Encoding Encoding => original.Encoding;

        public override void Write(char value) => WriteAbove([value]);

        public override void Write(char[] buffer, int index, int count) => WriteAbove(buffer.AsSpan(index, count));

        public override void Write(ReadOnlySpan<char> buffer) => WriteAbove(buffer);

        public override void Write(string? value) => WriteAbove(value);

        // In one piece, or each would be drawn after.
        public override void WriteLine(string? value) => WriteAbove(value + NewLine);

        public override void WriteLine(ReadOnlySpan<char> buffer) => WriteAbove(string.Concat(buffer, NewLine));

        // Each text is flushed as it is written.
        public override void Flush()
        {
        }

        private void WriteAbove(ReadOnlySpan<char> text) => display.WriteAbove(_terminal, text);
    }
}
