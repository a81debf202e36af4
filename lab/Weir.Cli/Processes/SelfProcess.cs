using Weir.Cli.Kit.Processes;
using Weir.Lab.Processes;

namespace Weir.Cli.Processes;

/// <summary>
/// Runs work in a new process of this program, so that no round inherits the thread pool, the heap or the compiled code of another.
/// </summary>
/// <remarks>
/// The two processes exchange lines over a separate pipe. Standard input and output of the child belong to the measured code: its input is empty, and its
/// output is passed on.
/// </remarks>
internal static class SelfProcess
{
    /// <summary>The line that tells the child to stop.</summary>
    public const string Stop = "stop";

    /// <summary>The last line of the child.</summary>
    public const string End = "end";

    // The child waits for the measured code for two seconds or so, and then sends what it has. What takes it some milliseconds takes seconds on a busy machine,
    // and killed before it has sent that, nothing is left of the run. Whoever will not wait sends the signal again, which ends this process at once.
    private static readonly TimeSpan StopPatience = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan EndPatience = TimeSpan.FromSeconds(2);

    /// <summary>Runs a command of this program.</summary>
    /// <param name="arguments">The arguments; the name of the pipe is put after them.</param>
    /// <param name="order">What the child is told first.</param>
    /// <param name="answer">Gets each line that the child answers with.</param>
    /// <param name="printed">Gets each line that the child prints.</param>
    /// <param name="variables">Environment variables that the child gets besides its own.</param>
    /// <param name="words">Lines that are sent to the child while it runs; <see langword="null"/> for none.</param>
    /// <param name="stop">Asks the child to stop. It may still answer. If it does not end, it is killed.</param>
    /// <returns>A task that ends with the child.</returns>
    /// <exception cref="InvalidOperationException">The child ended before its last line.</exception>
    public static async Task RunAsync(
        IReadOnlyList<string> arguments,
        string order,
        Action<string> answer,
        Action<string> printed,
        IReadOnlyDictionary<string, string>? variables,
        ChannelReader<string>? words,
        CancellationToken stop)
    {
        // Short, because the path of a socket has to be short.
        string name = $"weir-{RandomNumberGenerator.GetHexString(12, lowercase: true)}";
        await using NamedPipeServerStream pipe = new(
            name, PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.Asynchronous | PipeOptions.CurrentUserOnly);
        using Process child =
            Process.Start(Info([.. arguments, name], variables)) ?? throw new InvalidOperationException("The measuring process could not be started.");
        child.StandardInput.Close();
        PrintedLines output = new(child.StandardOutput, printed);
        PrintedLines errors = new(child.StandardError, printed);
        Task ended = child.WaitForExitAsync(CancellationToken.None);
        bool said = await ExchangeAsync(pipe, order, answer, words, child, ended, stop);

        // A thread that the measured code has left behind would keep the child alive. One that breaks off may still be writing why, which nobody may cut short.
        TimeSpan patience = said || stop.IsCancellationRequested ? EndPatience : StopPatience;
        bool isKilled = await Task.WhenAny(ended, Task.Delay(patience, CancellationToken.None)) != ended;
        if (isKilled)
        {
            Kill(child);
            await ended;
        }

        // A process that the measured code has started would keep the output open.
        await Task.WhenAny(Task.WhenAll(output.Done, errors.Done), Task.Delay(EndPatience, CancellationToken.None));
        if (!said && !stop.IsCancellationRequested)
        {
            throw new InvalidOperationException(
                (isKilled
                    ? $"A measuring process broke off before everything was measured, and was killed when it had not ended after {Numbers.Time(patience)}"
                    : $"A measuring process ended with code {child.ExitCode} before everything was measured")
                    + (errors.Last.Length > 0 ? ": " + errors.Last : "."));
        }
    }

    // Whether the child has sent its last line.
    private static async Task<bool> ExchangeAsync(
        NamedPipeServerStream pipe, string order, Action<string> answer, ChannelReader<string>? words, Process child, Task ended, CancellationToken stop)
    {
        using CancellationTokenSource over = CancellationTokenSource.CreateLinkedTokenSource(stop);
        Task connected = pipe.WaitForConnectionAsync(over.Token);
        if (await Task.WhenAny(connected, ended) != connected)
        {
            await over.CancelAsync();
            return false;
        }

        if (!connected.IsCompletedSuccessfully)
        {
            // It has nothing to tell yet, and on a busy machine it would start for seconds before it could be asked to stop.
            Kill(child);
            return false;
        }

        try
        {
            await WriteAsync(pipe, order);
            _ = words is null ? Task.CompletedTask : ForwardAsync(pipe, words);
            using CancellationTokenRegistration stopping = stop.UnsafeRegister(_ => _ = StopAsync(pipe, child, ended), null);
            using StreamReader reader = new(pipe, leaveOpen: true);
            while (await reader.ReadLineAsync(CancellationToken.None) is { } line)
            {
                if (line == End)
                {
                    return true;
                }

                answer(line);
            }
        }
        catch (IOException)
        {
            // The child has ended; its exit code and its output tell why.
        }

        return false;
    }

    private static async Task ForwardAsync(NamedPipeServerStream pipe, ChannelReader<string> words)
    {
        try
        {
            await foreach (string word in words.ReadAllAsync(CancellationToken.None))
            {
                await WriteAsync(pipe, word);
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // The child has ended, which its exit reports.
        }
    }

    private static async Task StopAsync(NamedPipeServerStream pipe, Process child, Task ended)
    {
        try
        {
            await WriteAsync(pipe, Stop);
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException or InvalidOperationException)
        {
            // It is gone already.
        }

        if (await Task.WhenAny(ended, Task.Delay(StopPatience, CancellationToken.None)) != ended)
        {
            Kill(child);
        }
    }

    private static ValueTask WriteAsync(NamedPipeServerStream pipe, string line) =>
        pipe.WriteAsync(Encoding.UTF8.GetBytes(line + "\n"), CancellationToken.None);

    private static void Kill(Process child)
    {
        try
        {
            child.Kill(entireProcessTree: true);
        }
        catch (InvalidOperationException)
        {
            // It has ended.
        }
    }

    private static ProcessStartInfo Info(IReadOnlyList<string> arguments, IReadOnlyDictionary<string, string>? variables)
    {
        ProcessStartInfo info = OwnProgram.StartInfo(Assembly.GetExecutingAssembly(), arguments);
        info.RedirectStandardInput = true;
        info.RedirectStandardOutput = true;
        info.RedirectStandardError = true;
        foreach ((string name, string value) in variables ?? new Dictionary<string, string>())
        {
            info.Environment[name] = value;
        }

        return info;
    }
}
