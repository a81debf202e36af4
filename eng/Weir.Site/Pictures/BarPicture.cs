using System.Globalization;
using System.Net;
using System.Text;
using Spectre.Console;

namespace Weir.Site.Pictures;

/// <summary>
/// The bars of Weir.Console as a recording: the real bars draw into a terminal in memory, by reports of a fixed clock, and each screen is a frame of an animated
/// picture. Where motion is not wanted, it shows the last one before the end.
/// </summary>
public static class BarPicture
{
    /// <summary>Where it is kept.</summary>
    public const string Path = "docs/pictures/bar.svg";

    private const int Columns = 84;
    private const int Lines = 5;
    private const int Line = 20;
    private const int Margin = 18;
    private const double Letter = 8.43;
    private const double Hold = 3;
    private const int Rows = 200_000;
    private const int EndOfRows = 28;
    private const int EndOfPictures = 36;
    private static readonly TimeSpan Step = TimeSpan.FromMilliseconds(250);

    private static readonly Dictionary<string, string> Colours = new() { ["32"] = "g", ["90"] = "d", ["91"] = "r" };

    /// <summary>The picture.</summary>
    public static string Draw()
    {
        FixedClock clock = new();
        TerminalScreen screen = new(Columns, 24);
        IAnsiConsole console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Ansi = AnsiSupport.Yes, ColorSystem = ColorSystemSupport.Standard, Out = new Output(screen),
        });
        console.Profile.Capabilities.Unicode = true;
        ConsoleProgressOptions options = new() { Console = console, TimeProvider = clock };
        ProgressOptions rows = ConsoleProgress.Bar("import", Rows, options);
        ProgressOptions pictures = ConsoleProgress.Bar("pictures", options: options);
        screen.WriteLine("$ dotnet run");
        List<string> frames = [Frame(screen)];
        for (int step = 1; step <= EndOfPictures; step++)
        {
            clock.Now += Step.Ticks;
            TimeSpan elapsed = step * Step;
            if (step <= EndOfRows)
            {
                Report(rows, (long)Rows * step / EndOfRows, step < EndOfRows / 2 ? 0 : 3, Rows, elapsed, step == EndOfRows);
            }

            clock.Now += Step.Ticks;
            Report(pictures, 37 * step + (step % 3), 0, null, elapsed, step == EndOfPictures);
            frames.Add(Frame(screen));
        }

        return Animated(frames);
    }

    private static void Report(ProgressOptions bar, long ended, long failed, long? total, TimeSpan elapsed, bool isFinal) => bar.OnProgress!(new ProgressSnapshot
    {
        Started = ended, Succeeded = ended - failed, Failed = failed, TotalItems = total, Elapsed = elapsed, IsFinal = isFinal,
    });

    private static string Frame(TerminalScreen screen)
    {
        StringBuilder text = new();
        int at = 0;
        foreach (IReadOnlyList<(string Text, string Style)> line in screen.Styled)
        {
            string spans = string.Concat(line.Select(static run => Colours.TryGetValue(run.Style, out string? colour)
                ? $"<tspan class=\"{colour}\">{WebUtility.HtmlEncode(run.Text)}</tspan>"
                : WebUtility.HtmlEncode(run.Text)));
            if (!string.IsNullOrWhiteSpace(spans))
            {
                text.Append(CultureInfo.InvariantCulture, $"<text x=\"{Margin}\" y=\"{Margin + (at * Line) + 14}\">{spans.TrimEnd()}</text>");
            }

            at++;
        }

        return text.ToString();
    }

    private static string Animated(List<string> frames)
    {
        double all = ((frames.Count - 1) * Step.TotalSeconds) + Hold;
        StringBuilder body = new();
        for (int i = 0; i < frames.Count; i++)
        {
            string kind = i == frames.Count - 1 ? "l" : i == EndOfRows / 2 ? "f s" : "f";
            body.Append(CultureInfo.InvariantCulture, $"<g class=\"{kind}\" style=\"animation-delay:{i * Step.TotalSeconds:0.##}s\">{frames[i]}</g>\n");
        }

        string Percent(double seconds) => (100 * seconds / all).ToString("0.###", CultureInfo.InvariantCulture);
        string width = ((Columns * Letter) + (2 * Margin)).ToString("F0", CultureInfo.InvariantCulture);
        return $$"""
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width}} {{(Lines * Line) + (2 * Margin)}}" role="img" aria-labelledby="t">
            <title id="t">Two bars of Weir.Console while two runs go on</title>
            <style>
            text { font: 14px "DejaVu Sans Mono", Menlo, Consolas, monospace; white-space: pre; fill: #dfe6ee; }
            .g { fill: #56c271; }
            .d { fill: #4a545f; }
            .r { fill: #f0756b; }
            g { visibility: hidden; }
            .f { animation: f {{all.ToString("0.##", CultureInfo.InvariantCulture)}}s infinite step-end; }
            .l { animation: l {{all.ToString("0.##", CultureInfo.InvariantCulture)}}s infinite step-end; }
            @keyframes f { 0% { visibility: visible; } {{Percent(Step.TotalSeconds)}}% { visibility: hidden; } }
            @keyframes l { 0% { visibility: visible; } {{Percent(Hold)}}% { visibility: hidden; } }
            @media (prefers-reduced-motion: reduce) { g { animation: none !important; } .s { visibility: visible; } }
            </style>
            <rect width="100%" height="100%" rx="8" fill="#12161c"/>
            {{body}}</svg>

            """.ReplaceLineEndings("\n");
    }

    private sealed class Output(TerminalScreen screen) : IAnsiConsoleOutput
    {
        public TextWriter Writer => screen;

        public bool IsTerminal => true;

        public int Width => screen.Columns;

        public int Height => screen.Rows;

        public void SetEncoding(Encoding encoding)
        {
        }
    }

    private sealed class FixedClock : TimeProvider
    {
        public long Now { get; set; }

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => Now;
    }
}
