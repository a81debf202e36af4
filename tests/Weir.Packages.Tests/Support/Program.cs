using System.Diagnostics;
using System.Text;

namespace Weir.Packages.Tests.Support;

/// <summary>A program that is started as a user starts it, and does not outlive its test.</summary>
internal static class Program
{
    private static readonly TimeSpan Longest = TimeSpan.FromMinutes(8);

    /// <summary>Runs it to its end, and demands one of the exit codes, 0 if there are none.</summary>
    /// <returns>What it wrote to its output.</returns>
    public static async Task<string> RunAsync(
        string folder, IReadOnlyDictionary<string, string> environment, string file, string[] arguments, params int[] codes)
    {
        ProcessStartInfo start = new(file, arguments) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string inherited in start.Environment.Keys.Where(static k => k.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToArray())
        {
            start.Environment.Remove(inherited);
        }

        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }

        StringBuilder output = new();
        StringBuilder all = new();
        using Process process = new() { StartInfo = start };
        process.OutputDataReceived += (_, line) => Add(line.Data, output, all);
        process.ErrorDataReceived += (_, line) => Add(line.Data, all);
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        using CancellationTokenSource longest = new(Longest, TimeProvider.System);
        using CancellationTokenSource limit = CancellationTokenSource.CreateLinkedTokenSource(longest.Token, TestContext.Current.CancellationToken);
        try
        {
            await process.WaitForExitAsync(limit.Token);
        }
        catch (OperationCanceledException)
        {
            process.Kill(entireProcessTree: true);
            Assert.Fail($"{file} {string.Join(' ', arguments)} did not end. It wrote:\n{Text(all)}");
        }

        Assert.True(
            codes.Length == 0 ? process.ExitCode == 0 : codes.Contains(process.ExitCode),
            $"{file} {string.Join(' ', arguments)} ended with {process.ExitCode}. It wrote:\n{Text(all)}");
        return Text(output);
    }

    private static void Add(string? line, params ReadOnlySpan<StringBuilder> texts)
    {
        foreach (StringBuilder text in texts)
        {
            lock (text)
            {
                text.Append(line).Append(line is null ? "" : "\n");
            }
        }
    }

    private static string Text(StringBuilder text)
    {
        lock (text)
        {
            return text.ToString();
        }
    }
}
