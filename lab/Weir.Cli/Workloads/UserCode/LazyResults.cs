using System.Collections;
using Weir.Lab.Work;

namespace Weir.Cli.Workloads.UserCode;

/// <summary>
/// Results that do nothing until they are read, so that a call alone would be timed as nothing: what is declared as a sequence is read to its end, as whoever
/// calls the method would do.
/// </summary>
internal static class LazyResults
{
    private const BindingFlags Own = BindingFlags.NonPublic | BindingFlags.Static;

    /// <summary>The delegate itself; or one that calls it, reads the sequence that it returns, and returns the number of its elements.</summary>
    /// <param name="call">The delegate, without parameters.</param>
    /// <param name="result">What it returns.</param>
    public static Delegate Read(Delegate call, Type result)
    {
        Type? task = result.IsGenericType && result.GetGenericTypeDefinition() is { } form && (form == typeof(Task<>) || form == typeof(ValueTask<>)) ? form : null;
        Type sequence = task is null ? result : result.GenericTypeArguments[0];
        if (ElementOf(sequence, out bool isAsync) is not { } element)
        {
            return call;
        }

        string name = (task, isAsync) switch
        {
            (null, false) => nameof(Sequence),
            (null, true) => nameof(AsyncSequence),
            (_, false) => task == typeof(Task<>) ? nameof(TaskOfSequence) : nameof(ValueTaskOfSequence),
            (_, true) => task == typeof(Task<>) ? nameof(TaskOfAsyncSequence) : nameof(ValueTaskOfAsyncSequence),
        };
        return (Delegate)typeof(LazyResults).GetMethod(name, Own)!.MakeGenericMethod(sequence, element).Invoke(null, [call])!;
    }

    // Interfaces alone: a class that can be enumerated, such as a reader of a database, may be something else first of all.
    private static Type? ElementOf(Type type, out bool isAsync)
    {
        isAsync = false;
        if (!type.IsInterface && !(type.IsGenericType && type.GetGenericTypeDefinition() == typeof(ParallelQuery<>)))
        {
            return null;
        }

        Type[] all = [type, .. type.GetInterfaces()];
        if (Of(typeof(IAsyncEnumerable<>)) is { } later)
        {
            isAsync = true;
            return later;
        }

        return all.Any(static i => i == typeof(ICollection)) || Of(typeof(ICollection<>)) is not null || Of(typeof(IReadOnlyCollection<>)) is not null ? null
            : Of(typeof(IEnumerable<>)) ?? (all.Contains(typeof(IEnumerable)) ? typeof(object) : null);

        Type? Of(Type form) => Array.Find(all, i => i.IsGenericType && i.GetGenericTypeDefinition() == form)?.GenericTypeArguments[0];
    }

    private static Func<long> Sequence<TSequence, T>(Func<TSequence> call)
        where TSequence : IEnumerable => () => Count<T>(call());

    private static Func<ValueTask<long>> AsyncSequence<TSequence, T>(Func<TSequence> call)
        where TSequence : IAsyncEnumerable<T> => () => CountAsync(call());

    private static Func<ValueTask<long>> TaskOfSequence<TSequence, T>(Func<Task<TSequence>> call)
        where TSequence : IEnumerable => async () => Count<T>(await call().ConfigureAwait(false));

    private static Func<ValueTask<long>> ValueTaskOfSequence<TSequence, T>(Func<ValueTask<TSequence>> call)
        where TSequence : IEnumerable => async () => Count<T>(await call().ConfigureAwait(false));

    private static Func<ValueTask<long>> TaskOfAsyncSequence<TSequence, T>(Func<Task<TSequence>> call)
        where TSequence : IAsyncEnumerable<T> => async () => await CountAsync(await call().ConfigureAwait(false)).ConfigureAwait(false);

    private static Func<ValueTask<long>> ValueTaskOfAsyncSequence<TSequence, T>(Func<ValueTask<TSequence>> call)
        where TSequence : IAsyncEnumerable<T> => async () => await CountAsync(await call().ConfigureAwait(false)).ConfigureAwait(false);

    private static long Count<T>(IEnumerable? sequence)
    {
        long count = 0;
        T last = default!;
        if (sequence is IEnumerable<T> typed)
        {
            foreach (T element in typed)
            {
                last = element;
                count++;
            }
        }
        else if (sequence is not null)
        {
            foreach (object? _ in sequence)
            {
                count++;
            }
        }

        Sink.Consume(last);
        return count;
    }

    private static async ValueTask<long> CountAsync<T>(IAsyncEnumerable<T>? sequence)
    {
        long count = 0;
        T last = default!;
        if (sequence is not null)
        {
            await foreach (T element in sequence.ConfigureAwait(false))
            {
                last = element;
                count++;
            }
        }

        Sink.Consume(last);
        return count;
    }
}
