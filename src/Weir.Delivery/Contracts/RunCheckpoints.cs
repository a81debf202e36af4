using Weir.Checkpoints;

namespace Weir.Delivery;

/// <summary>Lets a run note what is done in any <see cref="ICheckpointStore"/>, such as a table of PostgreSQL.</summary>
public static class RunCheckpoints
{
    /// <summary>A checkpoint of a run: <c>Resume = store.AsCheckpoint("import")</c>.</summary>
    /// <param name="store">Where it is.</param>
    /// <param name="name">
    /// Its name. One run at a time may use it: a second one fails with an <see cref="IOException"/>, if the store has <see cref="ICheckpointStore.Locks"/>.
    /// </param>
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

        public override async ValueTask<OpenCheckpoint> OpenAsync(CancellationToken cancellationToken)
        {
            ICheckpointLock? held = null;
            if (store.Locks is { } locks)
            {
                held = await locks.TryLockAsync(name, cancellationToken).ConfigureAwait(false) ?? throw InUse();
            }

            return new Open(this, held);
        }

        private async ValueTask<CheckpointText?> LoadAsync(CancellationToken cancellationToken) =>
            await store.LoadAsync(name, cancellationToken).ConfigureAwait(false) is { } text ? Parse(text) : null;

        private ValueTask SaveAsync(string text) => store.SaveAsync(name, text, CancellationToken.None);

        private sealed class Open(Stored stored, ICheckpointLock? held) : OpenCheckpoint
        {
            public override ValueTask<CheckpointText?> LoadAsync(CancellationToken cancellationToken) => stored.LoadAsync(cancellationToken);

            public override async ValueTask SaveAsync(CheckpointText state)
            {
                if (held is not null)
                {
                    await held.CheckAsync().ConfigureAwait(false);
                }

                await stored.SaveAsync(state.ToString()).ConfigureAwait(false);
            }

            public override ValueTask DisposeAsync() => held?.DisposeAsync() ?? default;
        }
    }
}
