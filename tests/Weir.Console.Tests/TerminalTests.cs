using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using Weir.Terminal;

namespace Weir.Bars.Tests;

/// <summary>A real process on a real terminal of the system, which <c>script</c> makes.</summary>
public sealed class TerminalTests
{
    private const string Marker = "WEIR_TESTS_BAR";
    private const int WindowChanged = 28;

    [Theory(Timeout = 120_000)]
    [InlineData("", true, true)]
    [InlineData("NO_COLOR=1", true, false)]
    [InlineData("TERM=dumb", false, false)]
    public async Task CtrlC_InTheMiddle_LeavesTheTerminalAsItWas(string variable, bool hasBar, bool hasColors)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && File.Exists("/usr/bin/script"), "There is no 'script' that makes a terminal.");
        using Process script = Start($"env -u NO_COLOR TERM=xterm-256color {variable} {Marker}=wait {Child()} >/dev/null");
        try
        {
            StringBuilder seen = new();
            await ReadUntilAsync(script, seen, "25 %");
            await script.StandardInput.WriteAsync('\x03');
            await script.StandardInput.FlushAsync(TestContext.Current.CancellationToken);
            await ReadUntilAsync(script, seen, null);
            await script.WaitForExitAsync(TestContext.Current.CancellationToken).WithinAsync("the end");
            string written = seen.ToString();
            using TerminalScreen screen = new(80, 24);
            screen.Write(OfTheFrames(written));
            Assert.True(screen is { HasCursor: true, Wraps: true });
            Assert.DoesNotContain("\e[?25l", written, StringComparison.Ordinal);
            Assert.Contains(screen.Lines, line => line.StartsWith(hasBar ? "import  ━" : "import: 1 of 4 (25 %)", StringComparison.Ordinal));

            // The terminal's echo stands alone on its line, unless a last frame has erased it.
            Assert.True(screen.Lines[^1] == "^C" || screen.IsAtEmptyLine, screen.Lines[^1]);
            Assert.Equal(hasColors, screen.Styled.Any(static line => line.Any(static run => run.Style.Length > 0)));
            Assert.Equal(hasBar, written.Contains("\e[", StringComparison.Ordinal));
        }
        finally
        {
            Kill(script);
        }
    }

    /// <summary>Output and error output are one terminal. While the window's size changes, the platform locks the output to tell it.</summary>
    [Theory(Timeout = 120_000)]
    [InlineData("lines")]
    [InlineData("resized")]
    public async Task Lines_OfTheProgram_StandWholeAboveTheBar(string what)
    {
        string written = await RunChildAsync(what);
        using TerminalScreen screen = new(80, 24);
        screen.Write(OfTheFrames(written));
        Assert.All(Enumerable.Range(0, 40), i => Assert.Contains($"line {i} of the program", screen.Lines));
        Assert.Contains("40 of 40", Assert.Single(screen.Lines, static line => line.StartsWith("import", StringComparison.Ordinal)), StringComparison.Ordinal);
        Assert.DoesNotContain('━', string.Concat(screen.Lines));
    }

    /// <summary>A logger keeps the writer that it got before the first bar; a program has put a writer of its own in the place of the platform's.</summary>
    [Theory(Timeout = 120_000)]
    [InlineData("kept")]
    [InlineData("own")]
    public async Task WritersOfOthers_WhileTheWindowIsResized_HoldUpNobody(string what)
    {
        string written = await RunChildAsync(what);
        Assert.All(Enumerable.Range(0, 40), i => Assert.Contains($"line {i} of the program", written, StringComparison.Ordinal));
        Assert.Contains("import: 40 of 40", written, StringComparison.Ordinal);
        Assert.Contains($"the others have written, from {(what == "own" ? "a writer of the program" : "the platform")}", written, StringComparison.Ordinal);
    }

    /// <summary>What the child does.</summary>
    [Fact(Timeout = 120_000)]
    public async Task InTheChild()
    {
        if (Environment.GetEnvironmentVariable(Marker) is not { } what)
        {
            return;
        }

        // The program of the tests would go on after Ctrl-C. This one ends at once, without a chance to put anything back.
        using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, static _ => Process.GetCurrentProcess().Kill());
        using Gate gate = new();
        TextWriter kept = Console.Out;
        if (what == "own")
        {
            Console.SetOut(new Forwarding(kept));
            Console.SetError(new Forwarding(Console.Error));
            kept = Console.Out;
        }

        string from = TerminalOutput.IsOfThePlatform(Console.Out) && TerminalOutput.IsOfThePlatform(Console.Error) ? "the platform" : "a writer of the program";
        using CancellationTokenSource ended = new();
        Task others = what is "kept" or "own"
            ? Task.Run(
                () =>
                {
                    while (!ended.IsCancellationRequested)
                    {
                        kept.WriteLine("a line of a logger");
                    }
                },
                ended.Token)
            : Task.CompletedTask;
        ConsoleProgressOptions options = new() { Interval = TimeSpan.FromMilliseconds(20), LineInterval = TimeSpan.FromMilliseconds(200) };
        await Enumerable.Range(0, what == "wait" ? 4 : 40).ForEachParallelAsync(
            async (x, token) =>
            {
                if (what != "wait")
                {
                    await Task.Delay(TimeSpan.FromMilliseconds(10), TimeProvider.System, token);
                    if (what != "lines")
                    {
                        Assert.Equal(0, Signal(Environment.ProcessId, WindowChanged));
                    }

                    await (x % 2 == 0 ? Console.Out : Console.Error).WriteLineAsync($"line {x} of the program");
                }
                else if (x > 0)
                {
                    await gate.WaitAsync(token);
                }
            },
            new ParallelRunOptions { MaxDegreeOfParallelism = 1, Progress = ConsoleProgress.Bar("import", options: options) });
        await ended.CancelAsync();
        await others;
        if (others != Task.CompletedTask)
        {
            await kept.WriteLineAsync($"the others have written, from {from}");
        }
    }

    [DllImport("libc", EntryPoint = "kill")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.System32)]
    private static extern int Signal(int process, int signal);

    private static string Child() =>
        $"{Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet"} exec {typeof(TerminalTests).Assembly.Location} -method {typeof(TerminalTests).FullName}.{nameof(InTheChild)}";

    /// <summary>All that a child writes to a terminal until it ends.</summary>
    private static async Task<string> RunChildAsync(string what)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux() && File.Exists("/usr/bin/script"), "There is no 'script' that makes a terminal.");
        using Process script = Start($"env -u NO_COLOR TERM=xterm-256color {Marker}={what} {Child()}");
        try
        {
            StringBuilder seen = new();
            await ReadUntilAsync(script, seen, null);
            return seen.ToString();
        }
        finally
        {
            Kill(script);
        }
    }

    /// <summary>Without what the platform writes when it begins and ends to use a terminal.</summary>
    private static string OfTheFrames(string written) =>
        written.Replace("\e[?1h\e=", "", StringComparison.Ordinal).Replace("\e[?1l\e>", "", StringComparison.Ordinal);

    private static Process Start(string command)
    {
        ProcessStartInfo start = new("/usr/bin/script", ["-qec", $"stty cols 80 rows 24; exec {command}", "/dev/null"])
        {
            RedirectStandardInput = true, RedirectStandardOutput = true,
        };
        return Process.Start(start)!;
    }

    private static async Task ReadUntilAsync(Process process, StringBuilder seen, string? text)
    {
        char[] buffer = new char[4096];
        while (text is null || !seen.ToString().Contains(text, StringComparison.Ordinal))
        {
            int read = await process.StandardOutput.ReadAsync(buffer).WithinAsync($"'{text}' on the terminal");
            if (read == 0)
            {
                Assert.True(text is null, $"It ended before '{text}': {seen}");
                return;
            }

            seen.Append(buffer, 0, read);
        }
    }

    /// <summary>Passes texts on and says the other's encoding, as one that also writes a file would.</summary>
    private sealed class Forwarding(TextWriter to) : TextWriter
    {
        public override Encoding Encoding => to.Encoding;

        public override void Write(char value) => to.Write(value);

        public override void Write(string? value) => to.Write(value);
    }

    private static void Kill(Process process)
    {
        if (!process.HasExited)
        {
            process.Kill(entireProcessTree: true);
        }
    }
}
