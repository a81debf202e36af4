using System.Collections.Concurrent;
using System.Diagnostics.CodeAnalysis;

namespace Weir.Explore.Model;

/// <summary>
/// What a concurrent dictionary does in several steps: it looks, calls the program under test without a lock, and adds or replaces what came of it. The steps
/// are the platform's own.
/// </summary>
[Replaces("System.Collections.Concurrent.ConcurrentDictionary`2")]
internal static class Dictionaries
{
    public static TValue GetOrAdd<TKey, TValue>(ConcurrentDictionary<TKey, TValue> map, TKey key, TValue value)
        where TKey : notnull
    {
        Step(map);
        return map.GetOrAdd(key, value);
    }

    public static TValue GetOrAdd<TKey, TValue>(ConcurrentDictionary<TKey, TValue> map, TKey key, Func<TKey, TValue> make)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(make);
        Step(map);
        if (map.TryGetValue(key, out TValue? known))
        {
            return known;
        }

        return GetOrAdd(map, key, make(key));
    }

    public static TValue GetOrAdd<TKey, TValue, TArg>(ConcurrentDictionary<TKey, TValue> map, TKey key, Func<TKey, TArg, TValue> make, TArg argument)
        where TKey : notnull => GetOrAdd(map, key, make is null ? null! : k => make(k, argument));

    public static TValue AddOrUpdate<TKey, TValue>(
        ConcurrentDictionary<TKey, TValue> map, TKey key, Func<TKey, TValue> make, Func<TKey, TValue, TValue> update)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(make);
        ArgumentNullException.ThrowIfNull(update);
        while (true)
        {
            Step(map);
            bool isKnown = map.TryGetValue(key, out TValue? known);
            TValue value = isKnown ? update(key, known!) : make(key);
            Step(map);
            if (isKnown ? map.TryUpdate(key, value, known!) : map.TryAdd(key, value))
            {
                return value;
            }
        }
    }

    public static TValue AddOrUpdate<TKey, TValue>(ConcurrentDictionary<TKey, TValue> map, TKey key, TValue added, Func<TKey, TValue, TValue> update)
        where TKey : notnull => AddOrUpdate(map, key, _ => added, update);

    public static TValue AddOrUpdate<TKey, TValue, TArg>(
        ConcurrentDictionary<TKey, TValue> map, TKey key, Func<TKey, TArg, TValue> make, Func<TKey, TValue, TArg, TValue> update, TArg argument)
        where TKey : notnull =>
        AddOrUpdate(map, key, make is null ? null! : k => make(k, argument), update is null ? null! : (k, old) => update(k, old, argument));

    private static void Step(object map)
    {
        ControlledThread.Current?.Step(orders: false);
        Effects.AcquireRelease(map);
    }
}

/// <summary>An attempt to take from a collection that is empty reads alone: it is no fence.</summary>
[Replaces("System.Collections.Concurrent.ConcurrentQueue`1")]
[Replaces("System.Collections.Concurrent.ConcurrentStack`1")]
internal static class Takers
{
    public static bool TryDequeue<T>(ConcurrentQueue<T> queue, [MaybeNullWhen(false)] out T item) => Took(Before(queue).TryDequeue(out item));
    public static bool TryPop<T>(ConcurrentStack<T> stack, [MaybeNullWhen(false)] out T item) => Took(Before(stack).TryPop(out item));

    private static T Before<T>(T collection)
        where T : class
    {
        if (ControlledThread.Current is { } me)
        {
            me.Access(me.Site);
            Effects.AcquireRelease(collection);
        }

        return collection;
    }

    private static bool Took(bool isTaken)
    {
        if (isTaken)
        {
            Stores.Flush();
        }

        return isTaken;
    }
}
