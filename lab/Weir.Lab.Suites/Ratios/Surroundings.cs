using System.Collections;
using System.Diagnostics;
using System.Runtime;
using System.Runtime.InteropServices;
using static System.FormattableString;

namespace Weir.Lab.Suites.Ratios;

/// <summary>Where and of what something was measured: without it a number cannot be compared with another.</summary>
internal static class Surroundings
{
    private const string Unknown = "unknown";

    /// <summary>Processor, cores, system, runtime and garbage collector, and the runtime's settings that change results.</summary>
    public static string Machine()
    {
        IEnumerable<string> settings =
            from DictionaryEntry variable in Environment.GetEnvironmentVariables()
            let name = (string)variable.Key
            where name.StartsWith("DOTNET_Tiered", StringComparison.OrdinalIgnoreCase)
                || name.StartsWith("DOTNET_ThreadPool", StringComparison.OrdinalIgnoreCase)
                || name.StartsWith("DOTNET_GC", StringComparison.OrdinalIgnoreCase)
            orderby name
            select $"{name}={variable.Value}";
        return string.Join(
            ", ",
            [
                $"{Environment.ProcessorCount} cores of {Processor()}",
                RuntimeInformation.OSDescription,
                RuntimeInformation.FrameworkDescription,
                GCSettings.IsServerGC ? "server GC" : "workstation GC",
                .. settings,
            ]);
    }

    /// <summary>What a delay of 1 ms really takes, in milliseconds: the step in which all timers go.</summary>
    public static async Task<double> TimerTickAsync()
    {
        double[] delays = new double[15];
        for (int i = 0; i < delays.Length; i++)
        {
            long start = Stopwatch.GetTimestamp();
            await Task.Delay(1);
            delays[i] = Stopwatch.GetElapsedTime(start).TotalMilliseconds;
        }

        return Spread.Of(delays).Median;
    }

    /// <summary>The commit of the sources, with a word when they were changed since.</summary>
    public static async Task<string> CommitAsync()
    {
        string? commit = await GitAsync("rev-parse", "--short=10", "HEAD");
        string? changes = await GitAsync("status", "--porcelain", "--", ":/src", ":/lab");
        return commit is null ? Unknown : Invariant($"{commit}{(changes is { Length: > 0 } ? " with changes" : "")}");
    }

    private static string Processor()
    {
        const string CpuInfo = "/proc/cpuinfo";
        string? model = File.Exists(CpuInfo)
            ? File.ReadLines(CpuInfo).FirstOrDefault(static line => line.StartsWith("model name", StringComparison.Ordinal))?.Split(':', 2)[1].Trim()
            : Environment.GetEnvironmentVariable("PROCESSOR_IDENTIFIER");
        return model ?? RuntimeInformation.ProcessArchitecture.ToString();
    }

    private static async Task<string?> GitAsync(params string[] arguments)
    {
        try
        {
            using Process git = Process.Start(new ProcessStartInfo("git", arguments) { RedirectStandardOutput = true, RedirectStandardError = true })!;
            Task<string> errors = git.StandardError.ReadToEndAsync();
            string output = await git.StandardOutput.ReadToEndAsync();
            await errors;
            await git.WaitForExitAsync();
            return git.ExitCode == 0 ? output.Trim() : null;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            // No git on this machine: the numbers are still numbers.
            return null;
        }
    }
}
