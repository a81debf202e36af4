using System.ComponentModel;
using System.Threading.Channels;
using Weir.Cli.Kit.Processes;

namespace Weir.Delivery.Cli.Commands.Work.Execution;

/// <summary>The command that a user gives for items. It gets their values as lines of its input, and its own lines go to the output.</summary>
internal sealed class ItemCommand(IReadOnlyList<string> words, WorkCliHost host)
{
    private const int ErrorLines = 20;
    private const int MostOfALine = 1000;

    private static readonly string[] Addresses = ["WEIR_QUEUE", "WEIR_SOURCE", "WEIR_TO"];

    /// <summary>Reads a command.</summary>
    /// <exception cref="BadInputException">It is none, or there is no such program.</exception>
    public static ItemCommand Of(OptionValue command, bool isForShell, WorkCliHost host)
    {
        if (isForShell)
        {
            string text = command.NotEmpty("a command");
            return new ItemCommand(OperatingSystem.IsWindows() ? ["cmd", "/c", text] : ["sh", "-c", text], host);
        }

        IReadOnlyList<string> words = CommandWords.Split(command);
        return Exists(words[0]) ? new ItemCommand(words, host) : throw new BadInputException($"{command.Source}: there is no program '{words[0]}'.");
    }

    /// <summary>Runs it for items, and waits for its end.</summary>
    /// <exception cref="CommandFailedException">Its exit code is not 0.</exception>
    /// <exception cref="OperationCanceledException">It was killed because the token was cancelled.</exception>
    public async Task RunAsync(IReadOnlyList<WorkItem<string>> items, CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using Process process = Start(items[0]);
        Task input = WriteAsync(process, items);
        Task output = ForEachLineAsync(process.StandardOutput, line => WorkOutput.WriteLine(host, line));
        Queue<string> errors = new();
        Task error = ForEachLineAsync(process.StandardError, line =>
        {
            errors.Enqueue(line.Length > MostOfALine ? line[..MostOfALine] : line);
            if (errors.Count > ErrorLines)
            {
                errors.Dequeue();
            }
        });
        try
        {
            await process.WaitForExitAsync(cancellationToken);
            await Task.WhenAll(input, output, error).WaitAsync(cancellationToken);
        }
        catch (OperationCanceledException)
        {
            Kill(process);

            // What it has started may keep its outputs open.
            await process.WaitForExitAsync(CancellationToken.None);
            throw;
        }

        if (process.ExitCode != 0)
        {
            string end = errors.Count > 0 ? $": {string.Join('\n', errors)}" : ".";
            throw new CommandFailedException($"'{words[0]}' ended with exit code {process.ExitCode.ToString(CultureInfo.InvariantCulture)}{end}");
        }
    }

    private Process Start(WorkItem<string> first)
    {
        // Ctrl-C goes to all processes of a terminal. The items that run shall finish, so their programs ignore it.
        string[] started = OperatingSystem.IsWindows() ? [.. words] : ["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh", .. words];
        ProcessStartInfo info = new(started[0], started[1..])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        info.Environment["WEIR_ITEM_ID"] = first.Id.ToString();
        info.Environment["WEIR_ITEM_KEY"] = first.Key ?? "";
        info.Environment["WEIR_ITEM_ATTEMPT"] = first.Attempt.ToString(CultureInfo.InvariantCulture);

        // An address with a password is of no use to it.
        foreach (string address in Addresses)
        {
            info.Environment.Remove(address);
        }

        try
        {
            return Process.Start(info)!;
        }
        catch (Win32Exception e)
        {
            throw new CommandFailedException($"'{words[0]}' could not be started: {e.Message}.");
        }
    }

    private static async Task WriteAsync(Process process, IReadOnlyList<WorkItem<string>> items)
    {
        try
        {
            foreach (WorkItem<string> item in items)
            {
                await process.StandardInput.WriteLineAsync(item.Value);
            }

            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // It does not read its input, which is its own affair.
        }
    }

    private static async Task ForEachLineAsync(StreamReader reader, Action<string> take)
    {
        while (await reader.ReadLineAsync() is { } line)
        {
            take(line);
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (Exception e) when (e is InvalidOperationException or Win32Exception or AggregateException)
        {
            // It, or a part of it, has just ended.
        }
    }

    private static bool Exists(string program)
    {
        string[] endings = OperatingSystem.IsWindows() ? ["", ".exe", ".cmd", ".bat"] : [""];
        IEnumerable<string> paths = program.Contains(Path.DirectorySeparatorChar, StringComparison.Ordinal)
            ? [program]
            : (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator).Select(folder => Path.Combine(folder, program));
        return paths.Any(path => endings.Any(ending => File.Exists(path + ending)));
    }
}

/// <summary>
/// Runs a command for several items at once: those that run at the same time share one. If it fails, each of them runs alone, and only those fail that fail
/// alone.
/// </summary>
internal sealed class CommandBatches : IAsyncDisposable
{
    /// <summary>How long an item waits for others at most.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(100);

    private readonly Channel<Entry> _entries;
    private readonly CancellationTokenSource _stop = new();
    private readonly ItemCommand _command;
    private readonly TimeSpan? _timeout;
    private readonly TimeProvider _clock;
    private readonly Task _run;

    public CommandBatches(ItemCommand command, int size, int concurrency, TimeSpan? timeout, TimeProvider clock)
    {
        _command = command;
        _timeout = timeout;
        _clock = clock;
        _entries = Channel.CreateBounded<Entry>(size);
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = concurrency, TimeProvider = clock };
        _run = _entries.Reader.ForEachBatchParallelAsync(size, (batch, _) => RunAsync(batch), options, Patience, CancellationToken.None);
    }

    public async ValueTask ProcessAsync(WorkItem<string> item, CancellationToken cancellationToken)
    {
        Entry entry = new(item, cancellationToken);
        await _entries.Writer.WriteAsync(entry, cancellationToken);
        await entry.Done.Task.WaitAsync(cancellationToken);
    }

    public async ValueTask DisposeAsync()
    {
        _entries.Writer.Complete();
        await _stop.CancelAsync();
        await _run;
        _stop.Dispose();
    }

    private async ValueTask RunAsync(IReadOnlyList<Entry> batch)
    {
        Entry[] live = [.. batch.Where(static e => !e.Token.IsCancellationRequested)];
        if (live.Length > 0 && await TryRunAsync(live, isLast: live.Length == 1))
        {
            return;
        }

        foreach (Entry entry in live.Where(static e => !e.Done.Task.IsCompleted))
        {
            await TryRunAsync([entry], isLast: true);
        }
    }

    private async ValueTask<bool> TryRunAsync(Entry[] entries, bool isLast)
    {
        using CancellationTokenSource limit = new(_timeout ?? Timeout.InfiniteTimeSpan, _clock);
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, _stop.Token);
        try
        {
            await _command.RunAsync([.. entries.Select(static e => e.Item)], stop.Token);
            Array.ForEach(entries, static e => e.Done.TrySetResult());
            return true;
        }
        catch (Exception e)
        {
            Exception error = limit.IsCancellationRequested ? new TimeoutException("The command exceeded its time limit.") : e;
            if (isLast)
            {
                Array.ForEach(entries, entry => entry.Done.TrySetException(error));
            }

            return isLast;
        }
    }

    private sealed class Entry(WorkItem<string> item, CancellationToken token)
    {
        public WorkItem<string> Item => item;

        public CancellationToken Token => token;

        public TaskCompletionSource Done { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}

/// <summary>A command that was run for items has failed. The message has its exit code and the end of what it wrote to its error output.</summary>
internal sealed class CommandFailedException(string message) : Exception(message);
