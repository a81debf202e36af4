using System.Diagnostics;
using System.Globalization;
using Weir.TestKit;

namespace Weir.Tests.Operators.Checkpoints;

/// <summary>Does a process that is really killed leave nothing out? <c>WEIR_KILLS=200</c> kills more often than a run of all tests has time for.</summary>
public sealed class RealKillTests : IDisposable
{
    private const string Marker = "WEIR_TESTS_RESUMED_RUN";
    private const int Count = 30_000;

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

            foreach (IGrouping<int, (int Item, double At)> done in Effects(folder).GroupBy(static e => e.Item))
            {
                // From when an effect that was repeated was there to the kill that took it away.
                foreach ((_, double at) in done.OrderBy(static e => e.At).SkipLast(1))
                {
                    repeated++;
                    longest = Math.Max(longest, deaths.First(d => d >= at) - at);
                }
            }

            Assert.Equal(Enumerable.Range(0, Count), Effects(folder).Select(static e => e.Item).Distinct().Order());
        }

        TestContext.Current.SendDiagnosticMessage($"{killed} kills: {repeated} items repeated, the oldest {longest:F0} ms before its kill");
        if (Environment.GetEnvironmentVariable("WEIR_KILLS") is not null)
        {
            await File.WriteAllTextAsync(
                Path.Combine(Path.GetTempPath(), "weir-kills.txt"),
                string.Create(CultureInfo.InvariantCulture, $"{killed} kills: {repeated} items repeated, the oldest {longest:F0} ms before its kill\n"));
        }
    }

    /// <summary>The process that is killed. Without the marker, the test has nothing to do.</summary>
    [Fact(Timeout = 600_000)]
    public async Task InAProcessThatIsKilled()
    {
        if (Environment.GetEnvironmentVariable(Marker) is not { } folder)
        {
            return;
        }

        string lines = Path.Combine(folder, "lines.txt");
        await using FileStream effects = new(Path.Combine(folder, "effects.txt"), FileMode.Append, FileAccess.Write, FileShare.ReadWrite, 0);
        await File.WriteAllTextAsync(Path.Combine(folder, "running"), "");
        await File.ReadLines(lines).ForEachParallelAsync(
            async (line, token) =>
            {
                await Task.Delay(TimeSpan.FromMilliseconds(1), TimeProvider.System, token);
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
            });
    }

    // The moment of its death; null if it came to its end.
    private static async Task<double?> LiveAsync(string folder, int? killAfter)
    {
        string running = Path.Combine(folder, "running");
        File.Delete(running);
        ProcessStartInfo start = new(Environment.GetEnvironmentVariable("DOTNET_HOST_PATH") ?? "dotnet") { RedirectStandardOutput = true };
        start.Environment[Marker] = folder;
        string method = $"{typeof(RealKillTests).FullName}.{nameof(InAProcessThatIsKilled)}";
        foreach (string argument in new[] { "exec", typeof(RealKillTests).Assembly.Location, "-noColor", "-method", method })
        {
            start.ArgumentList.Add(argument);
        }

        using Process child = Process.Start(start)!;
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
        .. File.ReadLines(Path.Combine(folder, "effects.txt"))
            .Select(static line => line.Split(' '))
            .Where(static parts => parts.Length == 2)
            .Select(static parts => (int.Parse(parts[0], CultureInfo.InvariantCulture), double.Parse(parts[1], CultureInfo.InvariantCulture))),
    ];
}
