using Microsoft.Extensions.Logging;
using Weir.Delivery;
using Weir.Runtimes;

namespace Weir.Logging.Tests;

/// <summary>The lines of a bare work host.</summary>
public sealed class HostLoggingTests
{
    [Theory(Timeout = 90_000)]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Lines_OfAWorkHost_TellFailedAttemptsDeadLettersAndFaults_AndALoggerThatThrowsChangesNothing(bool throws)
    {
        using KeptLines lines = new() { Throws = throws };
        using ILoggerFactory factory = LoggerFactory.Create(builder => builder.SetMinimumLevel(LogLevel.Trace).AddProvider(lines));
        MemoryWorkQueue<string> queue = new("orders", WorkSerializer.Text);
        await using (IWorkSink<string> sink = await queue.OpenSinkAsync())
        {
            await sink.WriteAsync(WorkItem.CreateMany(["good", "bad"]), position: null, CancellationToken.None);
        }

        queue.Complete();
        List<string> own = [];
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using DirectRuntime runtime = new();
        WorkHostOptions<string> options = new()
        {
            DeadLetters = new Unavailable(queue.DeadLetters),
            Serializer = WorkSerializer.Text,
            MaxAttempts = 2,
            RedeliveryDelays = [TimeSpan.Zero],
            OperationName = "orders.enter",
            OnFault = fault => own.Add(fault.GetType().Name),
            OnFailedAttempt = failed =>
            {
                own.Add($"{failed.Attempt} {failed.NextAttemptIn?.Ticks}");
                throw new InvalidTimeZoneException();
            },
            OnDeadLetter = letter =>
            {
                own.Add(letter.Id);
                throw new InvalidTimeZoneException();
            },
        };
        WorkHost<string> host = new(
            source, runtime, static (item, _) => item.Value == "bad" ? throw new FormatException() : default, options.WithLogging(factory));
        await host.RunAsync(CancellationToken.None).WithinAsync("the host");

        DeadLetter letter = Assert.Single(await queue.DeadLetters.ListAsync().ToListAsync());
        Assert.Equal((1, 1, 1), (host.Statistics.Succeeded, host.Statistics.DeadLettered, host.Statistics.Faults));
        Assert.Equal(["1 0", "2 ", nameof(IOException), letter.Id], own);
        Assert.Equal([16, 17, 14, 13], lines.All.Select(static l => l.Id));
        Assert.All(lines.All, static l => Assert.Equal(
            (LogLevel.Warning, RunLogging.Category, "orders.enter"), (l.Level, l.Category, l.Fields["OperationName"])));
        Assert.Equal([typeof(FormatException), typeof(FormatException), typeof(IOException), null], lines.All.Select(static l => l.Error?.GetType()));
        KeptLine dead = lines.All.Last();
        Assert.Equal((letter.Id, "orders", 2, "Failed"), (dead.Fields["Id"], dead.Fields["Source"], dead.Fields["Attempts"], dead.Fields["Reason"]));
    }

    /// <summary>The first letter cannot be stored at once.</summary>
    private sealed class Unavailable(IDeadLetters inner) : IDeadLetters
    {
        private int _calls;

        public ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default) =>
            Interlocked.Increment(ref _calls) == 1 ? throw new IOException("The server is away.") : inner.AddAsync(letters, cancellationToken);

        public IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default) =>
            inner.ListAsync(limit, cancellationToken);

        public ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default) => inner.FindAsync(id, cancellationToken);

        public ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) =>
            inner.ReplayAsync(ids, cancellationToken);

        public ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) =>
            inner.RemoveAsync(ids, cancellationToken);
    }
}
