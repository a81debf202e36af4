namespace Weir.Cli.Programs;

/// <summary>Runs programs one at a time, reports when one takes long, and kills one that does not end in time.</summary>
/// <param name="timeout">How long the end of one is waited for.</param>
/// <param name="showsOutput">Whether their output is shown.</param>
/// <param name="say">Called when a program takes long.</param>
/// <param name="stop">Kills the running program, with all that it has started.</param>
internal sealed class ProgramRunner(TimeSpan timeout, bool showsOutput, Action<string> say, CancellationToken stop)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    private readonly HashSet<string> _reported = [];

    /// <summary>Runs a program to its end.</summary>
    /// <param name="name">What it is called when something is said of it.</param>
    /// <param name="words">The program, and its arguments.</param>
    /// <returns>Its end; <see langword="null"/> if it did not end in time and was killed.</returns>
    /// <exception cref="OperationCanceledException">It was stopped, and killed.</exception>
    public Task<ProgramEnd?> RunAsync(string name, IReadOnlyList<string> words) => RunAsync<ProgramEnd?>(name, words, static p => p.Run());

    /// <summary>Runs a program for the memory that it needs.</summary>
    /// <param name="name">What it is called when something is said of it.</param>
    /// <param name="words">The program, and its arguments.</param>
    /// <returns>Its peak in bytes; <see langword="null"/> when it had not ended in time, or the system does not tell.</returns>
    /// <exception cref="OperationCanceledException">It was stopped, and killed.</exception>
    public Task<long?> MemoryAsync(string name, IReadOnlyList<string> words) => RunAsync(name, words, static p => p.RunForMemory());

    private async Task<T?> RunAsync<T>(string name, IReadOnlyList<string> words, Func<StartedProgram, T> how)
    {
        stop.ThrowIfCancellationRequested();
        StartedProgram program = new(words, showsOutput);
        Task<T> run = Task.Factory.StartNew(() => how(program), CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default);
        if (await EndsAsync(run, Patience < timeout ? Patience : timeout))
        {
            return await run;
        }

        if (!stop.IsCancellationRequested && Patience < timeout)
        {
            if (_reported.Add(name))
            {
                say($"weir: {name} runs for more than {Numbers.Time(Patience)}; it is abandoned after --timeout ({Numbers.Time(timeout)}).");
            }

            if (await EndsAsync(run, timeout - Patience))
            {
                return await run;
            }
        }

        program.Kill();
        await Task.WhenAny(run);
        stop.ThrowIfCancellationRequested();

        // A program that cannot be started is reported, however late.
        return run.IsFaulted ? await run : default;
    }

    private async Task<bool> EndsAsync(Task run, TimeSpan within)
    {
        try
        {
            await Task.WhenAny(run).WaitAsync(within, stop);
            return true;
        }
        catch (Exception e) when (e is TimeoutException or OperationCanceledException)
        {
            return run.IsCompleted && !stop.IsCancellationRequested;
        }
    }
}
