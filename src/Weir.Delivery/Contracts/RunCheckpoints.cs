namespace Weir.Delivery;

/// <summary>Lets a run note what is done in any <see cref="ICheckpointStore"/>, such as a table of PostgreSQL.</summary>
public static class RunCheckpoints
{
    /// <summary>A checkpoint of a run: <c>Resume = store.AsCheckpoint("import")</c>.</summary>
    /// <param name="store">Where it is.</param>
    /// <param name="name">Its name. One run at a time may use it: a store does not keep a second one away.</param>
    /// <returns>The checkpoint.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="store"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><paramref name="name"/> is empty.</exception>
    public static Checkpoint AsCheckpoint(this ICheckpointStore store, string name)
    {
        ArgumentNullException.ThrowIfNull(store);
        ArgumentException.ThrowIfNullOrEmpty(name);
        return new Checkpoint(new Stored(store, name));
    }

    private sealed class Stored(ICheckpointStore store, string name) : CheckpointStore
    {
        public override string Name => name;

        public override IDisposable? Lock() => null;

        public override ValueTask<string?> LoadAsync(CancellationToken cancellationToken) => store.LoadAsync(name, cancellationToken);

        public override ValueTask SaveAsync(string text) => store.SaveAsync(name, text, CancellationToken.None);
    }
}
