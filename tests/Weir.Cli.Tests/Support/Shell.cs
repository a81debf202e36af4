using System.Diagnostics;

namespace Weir.Cli.Tests.Support;

/// <summary>A shell that runs our programs as a user starts them, with real files and pipes as their output. It goes on between two commands.</summary>
internal sealed class Shell : IAsyncDisposable
{
    private const string EndMark = "weir-test-status:";

    private readonly Process _process;

    public Shell(string folder)
    {
        ProcessStartInfo start = new("/bin/sh", ["-s"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            WorkingDirectory = folder,
        };
        start.Environment["NO_COLOR"] = "1";
        _process = Process.Start(start)!;
    }

    /// <summary>How one of our programs is written in a command.</summary>
    /// <param name="type">A type of the program.</param>
    public static string Program(Type type) => $"dotnet '{type.Assembly.Location}'";

    /// <summary>A command, run with an output on a full disk, and with one whose reader has gone. It says its exit codes.</summary>
    public static string WithoutOutput(string command) =>
        $$"""
        { {{command}}; echo exit code $? >&2; } > /dev/full; rm -f gone
        { while [ ! -e gone ]; do sleep 0.02; done; {{command}}; echo exit code $? >&2; } | { exec <&-; : > gone; }
        """;

    /// <summary>Runs a command.</summary>
    /// <returns>Its exit code and its error output, if that is not redirected.</returns>
    public async Task<(int ExitCode, string Error)> RunAsync(string command)
    {
        await _process.StandardInput.WriteLineAsync($"{command}\necho {EndMark}$? >&2");
        await _process.StandardInput.FlushAsync();
        List<string> lines = [];
        while (await _process.StandardError.ReadLineAsync() is { } line)
        {
            if (line.StartsWith(EndMark, StringComparison.Ordinal))
            {
                return (int.Parse(line.AsSpan(EndMark.Length), System.Globalization.CultureInfo.InvariantCulture), string.Join('\n', lines));
            }

            lines.Add(line);
        }

        throw new InvalidOperationException($"The shell has ended: {string.Join('\n', lines)}");
    }

    public async ValueTask DisposeAsync()
    {
        _process.StandardInput.Close();
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync();
        _process.Dispose();
    }
}
