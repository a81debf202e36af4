using System.Runtime.CompilerServices;

namespace Weir.Delivery;

/// <summary>Stores dead letters in memory, up to a capacity.</summary>
/// <remarks>Thread-safe. The letters are lost when the process ends.</remarks>
public sealed class MemoryDeadLetters : IDeadLetters
{
    // Immutable.
    private readonly Lock _lock = new();
    private readonly int _capacity;
    private readonly Func<DeadLetter, CancellationToken, ValueTask>? _publish;

    // Under the lock: the letters from the oldest on, and where each is by its identity.
    private readonly LinkedList<DeadLetter> _letters = new();
    private readonly Dictionary<string, LinkedListNode<DeadLetter>> _nodes = new(StringComparer.Ordinal);
    private long _dropped;

    /// <summary>Creates an empty store.</summary>
    /// <param name="capacity">The maximum number of letters. Beyond it, the oldest are dropped. At least 1.</param>
    /// <param name="publish">Publishes the item of a letter again, for <see cref="ReplayAsync"/>; <see langword="null"/> if that is not possible.</param>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="capacity"/> is less than 1.</exception>
    public MemoryDeadLetters(int capacity = 10_000, Func<DeadLetter, CancellationToken, ValueTask>? publish = null)
    {
        Require.AtLeastOne(capacity, nameof(capacity));
        _capacity = capacity;
        _publish = publish;
    }

    /// <summary>The number of letters.</summary>
    public int Count
    {
        get
        {
            lock (_lock)
            {
                return _letters.Count;
            }
        }
    }

    /// <summary>The number of letters that were dropped because the capacity was exceeded.</summary>
    public long Dropped
    {
        get
        {
            lock (_lock)
            {
                return _dropped;
            }
        }
    }

    /// <inheritdoc/>
    public ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(letters);
        lock (_lock)
        {
            foreach (DeadLetter letter in letters)
            {
                if (_nodes.TryGetValue(letter.Id, out LinkedListNode<DeadLetter>? node))
                {
                    node.Value = letter;
                    continue;
                }

                if (_letters.Count == _capacity)
                {
                    Forget(_letters.First!.Value.Id);
                    _dropped++;
                }

                _nodes.Add(letter.Id, _letters.AddLast(letter));
            }
        }

        return default;
    }

    /// <inheritdoc/>
    public async IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, [EnumeratorCancellation] CancellationToken cancellationToken = default)
    {
        Require.AtLeastOne(limit, nameof(limit));
        DeadLetter[] letters;
        lock (_lock)
        {
            letters = [.. _letters.Take(limit)];
        }

        await Task.CompletedTask.ConfigureAwait(false);
        foreach (DeadLetter letter in letters)
        {
            cancellationToken.ThrowIfCancellationRequested();
            yield return letter;
        }
    }

    /// <inheritdoc/>
    public ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default)
    {
        lock (_lock)
        {
            return new ValueTask<DeadLetter?>(_nodes.GetValueOrDefault(id)?.Value);
        }
    }

    /// <inheritdoc/>
    /// <exception cref="NotSupportedException">The constructor got no delegate that publishes an item.</exception>
    public async ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(ids);
        if (_publish is null)
        {
            throw new NotSupportedException("This store cannot publish items again: pass a publish function to its constructor.");
        }

        int published = 0;
        foreach (string id in ids)
        {
            if (await FindAsync(id, cancellationToken).ConfigureAwait(false) is { } letter)
            {
                await _publish(letter, cancellationToken).ConfigureAwait(false);
                published += await RemoveAsync([id], cancellationToken).ConfigureAwait(false);
            }
        }

        return published;
    }

    /// <inheritdoc/>
    public ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default)
    {
        ArgumentNullException.ThrowIfNull(ids);
        lock (_lock)
        {
            return new ValueTask<int>(ids.Count(Forget));
        }
    }

    private bool Forget(string id)
    {
        if (!_nodes.Remove(id, out LinkedListNode<DeadLetter>? node))
        {
            return false;
        }

        _letters.Remove(node);
        return true;
    }
}
