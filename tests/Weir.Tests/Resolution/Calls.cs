using System.Collections.Concurrent;
using System.Diagnostics;

namespace Weir.Tests.Resolution;

/// <summary>Calls of both kinds, to be given as method groups.</summary>
internal static class Calls
{
    public static ValueTask<int> ValueTwice(int item, CancellationToken cancellationToken) => new(2 * item);

    public static async Task<int> TaskTwice(int item, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return 2 * item;
    }

    public static ValueTask<int> ValueSum(IReadOnlyList<int> items, CancellationToken cancellationToken) => new(items.Sum());

    public static async Task<int> TaskSum(IReadOnlyList<int> items, CancellationToken cancellationToken)
    {
        await Task.Yield();
        return items.Sum();
    }

    public static async Task<List<T>> ToListAsync<T>(this IAsyncEnumerable<T> stream, bool sorted)
    {
        List<T> all = [];
        await foreach (T item in stream)
        {
            all.Add(item);
        }

        return sorted ? [.. all.Order()] : all;
    }

    /// <summary>Whether the caller was made a call that returns a value task by something around it.</summary>
    public static bool IsWrapped() =>
        new StackTrace().GetFrames().Any(static f => f.GetMethod()?.DeclaringType?.FullName?.Contains("TaskCalls", StringComparison.Ordinal) == true);

    /// <summary>Actions of both kinds that note their items.</summary>
    internal sealed class Seen
    {
        private readonly ConcurrentQueue<int> _items = [];

        public ValueTask ValueNote(int item, CancellationToken cancellationToken)
        {
            _items.Enqueue(item);
            return default;
        }

        public async Task TaskNote(int item, CancellationToken cancellationToken)
        {
            await Task.Yield();
            _items.Enqueue(item);
        }

        public async Task<bool> TaskAnswer(int item, CancellationToken cancellationToken)
        {
            await TaskNote(item, cancellationToken);
            return true;
        }

        public async Task<int[]> AfterAsync(Task run)
        {
            await run;
            int[] items = [.. _items.Order()];
            _items.Clear();
            return items;
        }
    }
}
