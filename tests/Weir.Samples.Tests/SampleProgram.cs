using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Weir.Samples.Tests;

/// <summary>A program of the folder samples, as it was built beside these tests, started as a user starts it. It does not outlive its test.</summary>
internal sealed partial class SampleProgram : IAsyncDisposable
{
    public const int Interrupt = 2;
    public const int Kill = 9;
    public const int Terminate = 15;

    private static readonly string Built = Path.Combine(Repository.Root, "artifacts", "bin");
    private static readonly string Configuration = Path.GetFileName(Path.TrimEndingDirectorySeparator(AppContext.BaseDirectory));

    private readonly string _name;
    private readonly Process _process;
    private readonly ConcurrentQueue<string> _lines = new();
    private readonly Task<string> _errors;
    private readonly Task _reading;
    private readonly SemaphoreSlim _line = new(0);

    private SampleProgram(string name, ProcessStartInfo start, bool hasInput = false)
    {
        _name = name;
        start.RedirectStandardInput = true;
        start.RedirectStandardOutput = true;
        start.RedirectStandardError = true;
        _process = Process.Start(start)!;
        if (!hasInput)
        {
            _process.StandardInput.Close();
        }

        _errors = _process.StandardError.ReadToEndAsync();
        _reading = ReadAsync();

        // Who waits for a line that will not come looks once more.
        _ = _reading.ContinueWith(_ => _line.Release(), TaskScheduler.Default);
    }

    /// <summary>The assembly of a project, in the configuration that the tests were built in.</summary>
    public static string Assembly(string project) => Path.Combine(Built, project, Configuration, project + ".dll");

    public static SampleProgram Start(string sample, params IEnumerable<string> arguments) => Start(sample, [], arguments);

    /// <summary>Starts a program with variables in its environment.</summary>
    public static SampleProgram Start(string sample, IEnumerable<KeyValuePair<string, string>> environment, params IEnumerable<string> arguments) =>
        new(sample, ToStart(sample, environment, arguments));

    /// <summary>Starts a program that reads commands from its input.</summary>
    public static SampleProgram StartWithInput(string sample, params IEnumerable<string> arguments) => StartWithInput(sample, [], arguments);

    /// <inheritdoc cref="StartWithInput(string, IEnumerable{string})"/>
    public static SampleProgram StartWithInput(string sample, IEnumerable<KeyValuePair<string, string>> environment, params IEnumerable<string> arguments) =>
        new(sample, ToStart(sample, environment, arguments), hasInput: true);

    public static SampleProgram StartScript(string script, params IEnumerable<string> arguments) =>
        new(script, new ProcessStartInfo("bash", [Path.Combine(Repository.Root, "samples", script), .. arguments])
        {
            Environment = { ["WEIR"] = Assembly("Weir.Cli") },
        });

    /// <summary>Waits for a line of its output that begins with the text. Fails at once if the output ends without it.</summary>
    public async Task<string> LineAsync(string start)
    {
        while (true)
        {
            await _line.WaitAsync().WithinAsync($"a line \"{start}\" of {_name}, which wrote {Output},");
            bool hasEnded = _reading.IsCompleted;
            if (_lines.LastOrDefault(line => line.StartsWith(start, StringComparison.Ordinal)) is { } found)
            {
                return found;
            }

            if (hasEnded)
            {
                (string output, string errors, int code) = await EndAsync();
                Assert.Fail($"{_name} ended with {code} before a line \"{start}\". It wrote {output}, and the errors {errors}");
            }
        }
    }

    /// <summary>The number of its lines so far that begin with the text.</summary>
    public int Count(string start) => _lines.Count(line => line.StartsWith(start, StringComparison.Ordinal));

    public async Task WriteAsync(string line)
    {
        await _process.StandardInput.WriteLineAsync(line).WithinAsync($"the input of {_name}");
        await _process.StandardInput.FlushAsync().WithinAsync($"the input of {_name}");
    }

    public void Signal(int signal) => Assert.Equal(0, Send(_process.Id, signal));

    /// <summary>Waits for its end.</summary>
    /// <returns>What it wrote, and its exit code.</returns>
    public async Task<(string Output, string Errors, int Code)> EndAsync()
    {
        await _process.WaitForExitAsync().WithinAsync($"{_name}, which wrote {Output},");
        await _reading.WithinAsync($"the output of {_name}");
        return (Output, await _errors.WithinAsync($"the errors of {_name}"), _process.ExitCode);
    }

    public async ValueTask DisposeAsync()
    {
        if (!_process.HasExited)
        {
            _process.Kill(entireProcessTree: true);
            await _process.WaitForExitAsync();
        }

        _process.Dispose();
        _line.Dispose();
    }

    private string Output => string.Join('\n', _lines);

    private static ProcessStartInfo ToStart(string sample, IEnumerable<KeyValuePair<string, string>> environment, IEnumerable<string> arguments)
    {
        ProcessStartInfo start = new("dotnet", [Assembly(sample), .. arguments]);
        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }

        return start;
    }

    private async Task ReadAsync()
    {
        while (await _process.StandardOutput.ReadLineAsync() is { } line)
        {
            _lines.Enqueue(line);
            _line.Release();
        }
    }

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Send(int process, int signal);
}
