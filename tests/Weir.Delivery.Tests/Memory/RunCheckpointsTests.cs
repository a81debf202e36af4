namespace Weir.Delivery.Tests.Memory;

/// <summary>Does a run go on from a checkpoint that a store has?</summary>
public class RunCheckpointsTests
{
    [Fact(Timeout = 60_000)]
    public async Task ARun_GoesOn_FromWhatAStoreHas()
    {
        MemoryCheckpointStore store = new();
        ParallelRunOptions options = new() { ErrorMode = ErrorMode.BestEffort, Resume = store.AsCheckpoint("import") };
        int[] items = [.. Enumerable.Range(0, 100)];
        await items.ForEachParallelAsync(static (i, _) => i % 7 == 5 ? throw new FormatException() : default(ValueTask), options);
        Assert.NotNull(await store.LoadAsync("import", TestContext.Current.CancellationToken));
        List<int> left = await items.SelectParallelAsync(static (i, _) => new ValueTask<int>(i), options);
        Assert.Equal(items.Where(static i => i % 7 == 5), left);
    }

    [Theory(Timeout = 60_000)]
    [InlineData(true)]
    [InlineData(false)]
    public async Task TwoRunsAtOnce_AreRefused_IfTheStoreHasLocks(bool locks)
    {
        ICheckpointStore store = locks ? new MemoryCheckpointStore() : new StoreWithoutLocks();
        using Gate gate = new();
        Task first = RunAsync("import", async () => await gate.WaitAsync());
        await RunAsync("other", static () => Task.CompletedTask);
        Task second = RunAsync("import", static () => Task.CompletedTask);
        if (locks)
        {
            IOException e = await Assert.ThrowsAsync<IOException>(() => second);
            Assert.Equal(
                "The checkpoint import is in use by another run, of this process or another: wait for its end, or give this run a checkpoint of its own.", e.Message);
        }

        gate.Open();
        await first;
        await second.ContinueWith(static _ => { }, TaskScheduler.Default);
        await RunAsync("import", static () => Task.CompletedTask);

        Task RunAsync(string name, Func<Task> call) =>
            Enumerable.Range(0, 1).ForEachParallelAsync(async (_, _) => await call(), new ParallelRunOptions { Resume = store.AsCheckpoint(name) });
    }

    [Fact(Timeout = 60_000)]
    public async Task ARunThatLosesItsLock_SavesNothingMore_AndStops()
    {
        StoreWithoutLocks store = new() { Lock = new LostLock() };
        ParallelRunOptions options = new() { Resume = store.AsCheckpoint("import") };
        IOException e = await Assert.ThrowsAsync<IOException>(() => Enumerable.Range(0, 5).ForEachParallelAsync(static (_, _) => default(ValueTask), options));
        Assert.Contains("could not be saved, so the run has stopped: The lock is lost.", e.Message, StringComparison.Ordinal);
        Assert.Null(await ((ICheckpointStore)store).LoadAsync("import", TestContext.Current.CancellationToken));
        Assert.True(store.Lock.IsGivenBack);
    }

    private sealed class StoreWithoutLocks : ICheckpointStore, ICheckpointLocks
    {
        private readonly MemoryCheckpointStore _store = new();

        public LostLock? Lock { get; init; }

        ICheckpointLocks? ICheckpointStore.Locks => Lock is null ? null : this;

        public ValueTask<string?> LoadAsync(string name, CancellationToken cancellationToken = default) => _store.LoadAsync(name, cancellationToken);

        public ValueTask SaveAsync(string name, string position, CancellationToken cancellationToken = default) => _store.SaveAsync(name, position, cancellationToken);

        public ValueTask<ICheckpointLock?> TryLockAsync(string name, CancellationToken cancellationToken = default) => new(Lock);
    }

    private sealed class LostLock : ICheckpointLock
    {
        public bool IsGivenBack { get; private set; }

        public ValueTask CheckAsync(CancellationToken cancellationToken = default) => ValueTask.FromException(new TimeoutException("The lock is lost."));

        public ValueTask DisposeAsync()
        {
            IsGivenBack = true;
            return default;
        }
    }
}
