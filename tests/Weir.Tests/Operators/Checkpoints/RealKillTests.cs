using System.Diagnostics;
using System.Globalization;
using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>Does a process that is really killed or stopped leave nothing out, and keep a second one away? <c>WEIR_KILLS=200</c> kills more often than a run of all tests has time for.</summary>
public sealed class RealKillTests : IDisposable
{
    private const string Marker = "WEIR_TESTS_RESUMED_RUN";
    private const string Mode = "WEIR_TESTS_RESUMED_RUN_MODE";
    private const int Count = 30_000;

    // How the processes of the tests end.
    private const int Refused = 2;
    private const int Cancelled = 3;

    // Not in the process that is killed, which could not delete it.
    private readonly string _folder = Environment.GetEnvironmentVariable(Marker) ?? Directory.CreateTempSubdirectory("weir-kills-").FullName;

    public void Dispose()
    {
        if (Environment.GetEnvironmentVariable(Marker) is null)
        {
            Directory.Delete(_folder, recursive: true);
        }
    }

    [Fact(Timeout = 3_600_000)]
    public async Task NothingIsLeftOut_WhenTheProcessIsKilled()
    {
        int kills = int.Parse(Environment.GetEnvironmentVariable("WEIR_KILLS") ?? "3", CultureInfo.InvariantCulture);
        Random random = new(1);
        int killed = 0;
        double longest = 0;
        double oldestWork = 0;
        int repeated = 0;
        for (int round = 0; killed < kills; round++)
        {
            string folder = Directory.CreateDirectory(Path.Combine(_folder, $"{round}")).FullName;
            File.WriteAllLines(Path.Combine(folder, "lines.txt"), Enumerable.Range(0, Count).Select(static i => $"{i}"));
            List<double> deaths = [];
            bool hasEnded = false;
            while (!hasEnded)
            {
                double? death = await LiveAsync(folder, killed < kills ? random.Next(0, 2_500) : null);
                deaths.Add(death ?? double.MaxValue);
                killed += death is null ? 0 : 1;
                hasEnded = death is null;
            }

            List<(int Item, double At)> effects = Effects(folder);
            foreach (IGrouping<int, (int Item, double At)> done in effects.GroupBy(static e => e.Item))
            {
                // From when an effect that was repeated was there to the kill that took it away.
                foreach ((_, double at) in done.OrderBy(static e => e.At).SkipLast(1))
                {
                    repeated++;
                    double death = deaths.First(d => d >= at);
                    longest = Math.Max(longest, death - at);
                    oldestWork = Math.Max(oldestWork, effects.Where(e => e.At <= death).Max(static e => e.At) - at);
                }
            }

            Assert.Equal(Enumerable.Range(0, Count), Effects(folder).Select(static e => e.Item).Distinct().Order());
        }

        // A process that gets no processor does nothing either. So the second is also counted from the last thing that it did.
        string result = string.Create(
            CultureInfo.InvariantCulture,
            $"{killed} kills: {repeated} items repeated, the oldest {longest:F0} ms before its kill, {oldestWork:F0} ms before the last item\n");
        TestContext.Current.SendDiagnosticMessage(result);
        if (Environment.GetEnvironmentVariable("WEIR_KILLS") is not null)
        {
            await File.WriteAllTextAsync(Path.Combine(Path.GetTempPath(), "weir-kills.txt"), result);
        }
    }

    [Fact(Timeout = 600_000)]
    public async Task ASecondProcess_IsRefusedWithASentence_AndTheFirstLosesNothing()
    {
        await WriteLinesAsync(200);
        using Process first = Start(_folder, "hold");
        Task<string> output = first.StandardOutput.ReadToEndAsync();
        await Guard.UntilAsync(() => Task.FromResult(File.Exists(Path.Combine(_folder, "running")) || first.HasExited), "The first one runs");
        using (Process second = Start(_folder, "hold"))
        {
            string said = await second.StandardOutput.ReadToEndAsync();
            await second.WaitForExitAsync();
            Assert.Equal(Refused, second.ExitCode);
            Assert.Contains(
                $"The checkpoint {Path.Combine(_folder, "done")} is in use by another run, of this process or another: wait for its end, or give this run a checkpoint "
                    + "of its own.\n",
                said,
                StringComparison.Ordinal);
        }

        await File.WriteAllTextAsync(Path.Combine(_folder, "go"), "");
        string text = await output;
        await first.WaitForExitAsync();
        Assert.True(first.ExitCode == 0, text);
        AssertEachOnce(200);
    }

    [Fact(Timeout = 600_000)]
    public async Task CtrlC_SavesWhatIsDone_AndTheNextProcessGoesOn()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Needs the signals of Linux.");
        const int Lines = 3_000;
        await WriteLinesAsync(Lines);
        for (int stop = 1; stop <= 3; stop++)
        {
            File.Delete(Path.Combine(_folder, "running"));
            using Process process = Start(_folder, "cancel");
            Task<string> output = process.StandardOutput.ReadToEndAsync();
            await Guard.UntilAsync(
                () => Task.FromResult(process.HasExited || (File.Exists(Path.Combine(_folder, "running")) && Effects(_folder).Count >= stop * 400)),
                "It has done some");
            using (Process kill = Process.Start("kill", ["-INT", process.Id.ToString(CultureInfo.InvariantCulture)]))
            {
                await kill.WaitForExitAsync();
            }

            string text = await output;
            await process.WaitForExitAsync();
            Assert.True(process.ExitCode == Cancelled, text);
        }

        Assert.InRange(Effects(_folder).Count, 1_200, Lines - 1);
        Assert.Null(await LiveAsync(_folder, null));

        // It was stopped between two items, so not one is there twice.
        AssertEachOnce(Lines);
    }

    /// <summary>The process that is killed. Without the marker, the test has nothing to do.</summary>
    [Fact(Timeout = 600_000)]
    public async Task InAProcessThatIsKilled()
    {
        if (Environment.GetEnvironmentVariable(Marker) is not { } folder)
        {
            return;
        }

        string mode = Environment.GetEnvironmentVariable(Mode)!;
        using CancellationTokenSource stop = new();
        Console.CancelKeyPress += (_, pressed) =>
        {
            if (mode == "cancel")
            {
                pressed.Cancel = true;
                stop.Cancel();
            }
        };
        try
        {
            await RunAsync(folder, mode == "hold", stop.Token);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            Environment.Exit(Cancelled);
        }
        catch (IOException e)
        {
            Console.WriteLine(e.Message);
            Environment.Exit(Refused);
        }
    }

    private static async Task RunAsync(string folder, bool holds, CancellationToken cancellationToken)
    {
        string lines = Path.Combine(folder, "lines.txt");
        await using FileStream effects = new(Path.Combine(folder, "effects.txt"), FileMode.Append, FileAccess.Write, FileShare.ReadWrite, 0);
        if (!holds)
        {
            await File.WriteAllTextAsync(Path.Combine(folder, "running"), "", cancellationToken);
        }

        await File.ReadLines(lines).ForEachParallelAsync(
            async (line, token) =>
            {
                await Task.Delay(TimeSpan.FromMilliseconds(1), TimeProvider.System, token);
                if (holds)
                {
                    await File.WriteAllTextAsync(Path.Combine(folder, $"running{line}"), "", token);
                    File.Move(Path.Combine(folder, $"running{line}"), Path.Combine(folder, "running"), overwrite: true);
                    while (!File.Exists(Path.Combine(folder, "go")))
                    {
                        await Task.Delay(TimeSpan.FromMilliseconds(10), TimeProvider.System, token);
                    }
                }

                byte[] effect = System.Text.Encoding.ASCII.GetBytes(
                    string.Create(CultureInfo.InvariantCulture, $"{line} {TimeProvider.System.GetUtcNow().ToUnixTimeMilliseconds()}\n"));
                lock (effects)
                {
                    effects.Write(effect);
                }
            },
            new ParallelRunOptions
            {
                MaxDegreeOfParallelism = 8,
                Resume = Checkpoint.File(Path.Combine(folder, "done")).OfFile(lines),
            },
            cancellationToken);
    }

    private static Process Start(string folder, string mode)
    {
        // A shell may have started the tests in the background, with a signal that is ignored.
        List<string> command = OperatingSystem.IsLinux() ? ["env", "--default-signal=INT"] : [];
        command.Add(Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet");
        ProcessStartInfo start = new(command[0]) { RedirectStandardOutput = true };
        start.Environment[Marker] = folder;
        start.Environment[Mode] = mode;
        string method = $"{typeof(RealKillTests).FullName}.{nameof(InAProcessThatIsKilled)}";
        foreach (string argument in command.Skip(1).Concat(["exec", typeof(RealKillTests).Assembly.Location, "-noColor", "-method", method]))
        {
            start.ArgumentList.Add(argument);
        }

        return Process.Start(start)!;
    }

    private Task WriteLinesAsync(int count) =>
        File.WriteAllLinesAsync(Path.Combine(_folder, "lines.txt"), Enumerable.Range(0, count).Select(static i => $"{i}"));

    private void AssertEachOnce(int count) => Assert.Equal(Enumerable.Range(0, count), Effects(_folder).Select(static e => e.Item).Order());

    // The moment of its death; null if it came to its end.
    private static async Task<double?> LiveAsync(string folder, int? killAfter)
    {
        string running = Path.Combine(folder, "running");
        File.Delete(running);
        using Process child = Start(folder, "run");
        Task<string> output = child.StandardOutput.ReadToEndAsync();
        while (!File.Exists(running) && !child.HasExited)
        {
            await Task.Delay(TimeSpan.FromMilliseconds(10), TimeProvider.System);
        }

        Task end = child.WaitForExitAsync();
        if (killAfter is { } delay && await Task.WhenAny(end, Task.Delay(TimeSpan.FromMilliseconds(delay), TimeProvider.System)) != end)
        {
            child.Kill();
            double death = TimeProvider.System.GetUtcNow().ToUnixTimeMilliseconds();
            await end;
            return death;
        }

        await end;
        string text = await output;
        Assert.True(child.ExitCode == 0 && text.Contains("Total: 1, Errors: 0, Failed: 0", StringComparison.Ordinal), text);
        return null;
    }

    private static List<(int Item, double At)> Effects(string folder) =>
    [
        .. AllLines(Path.Combine(folder, "effects.txt"))
            .Select(static line => line.Split(' '))
            .Where(static parts => parts.Length == 2)
            .Select(static parts => (int.Parse(parts[0], CultureInfo.InvariantCulture), double.Parse(parts[1], CultureInfo.InvariantCulture))),
    ];

    // Also while a process writes it.
    private static IEnumerable<string> AllLines(string path)
    {
        using StreamReader reader = new(new FileStream(path, FileMode.OpenOrCreate, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete));
        while (reader.ReadLine() is { } line)
        {
            yield return line;
        }
    }
}
