using System.Buffers;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace Weir.Delivery;

/// <summary>Creates work items from values.</summary>
public static class WorkItem
{
    /// <summary>Creates an item with a new identity.</summary>
    /// <typeparam name="T">The type of the value.</typeparam>
    /// <param name="value">The value: the work to do.</param>
    /// <param name="key">Items with the same key are processed in order; <see langword="null"/> for none.</param>
    /// <returns>
    /// A new item. A publisher that may have to repeat a call should derive the identity from the data instead, with
    /// <see cref="WorkItem{T}(WorkId, T, string?, int, IReadOnlyDictionary{string, string}?)"/>.
    /// </returns>
    public static WorkItem<T> Create<T>(T value, string? key = null) => new(new WorkId(NewOrigin(), 0), value, key);

    /// <summary>Creates items from values. All share a new origin, and the index of each is its place.</summary>
    /// <typeparam name="T">The type of the values.</typeparam>
    /// <param name="values">The value: the work to do.</param>
    /// <param name="keyOf">Returns the key of a value; <see langword="null"/> for items without keys.</param>
    /// <returns>One item for each value, in the same order.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="values"/> is <see langword="null"/>.</exception>
    public static IReadOnlyList<WorkItem<T>> CreateMany<T>(IEnumerable<T> values, Func<T, string?>? keyOf = null)
    {
        ArgumentNullException.ThrowIfNull(values);
        string origin = NewOrigin();
        List<WorkItem<T>> items = values.TryGetNonEnumeratedCount(out int count) ? new(count) : [];
        foreach (T value in values)
        {
            items.Add(new WorkItem<T>(new WorkId(origin, items.Count), value, keyOf?.Invoke(value)));
        }

        return items;
    }

    private static string NewOrigin() => Guid.CreateVersion7().ToString("N");
}

/// <summary>A work item as it is published and delivered.</summary>
/// <typeparam name="T">The type of its value.</typeparam>
[DebuggerDisplay("{Id}: {Value}")]
[SuppressMessage("Performance", "CA1815:Override equals and operator equals on value types", Justification = "Items are told apart by their identity.")]
public readonly struct WorkItem<T>
{
    /// <summary>Creates an item.</summary>
    /// <param name="id">The identity, which must be the same each time the same item is published.</param>
    /// <param name="value">The value: the work to do.</param>
    /// <param name="key">
    /// Items with the same key are processed in order, if the engine and the host are configured to do so; <see langword="null"/> for none.
    /// </param>
    /// <param name="attempt">The number of this attempt, from 1.</param>
    /// <param name="headers">Data that travels with the item, such as a trace context; <see langword="null"/> for nothing. Not copied.</param>
    /// <exception cref="ArgumentException">The identity has no origin.</exception>
    /// <exception cref="ArgumentOutOfRangeException"><paramref name="attempt"/> is less than 1.</exception>
    public WorkItem(WorkId id, T value, string? key = null, int attempt = 1, IReadOnlyDictionary<string, string>? headers = null)
    {
        ArgumentException.ThrowIfNullOrEmpty(id.Origin, nameof(id));
        ArgumentOutOfRangeException.ThrowIfLessThan(attempt, 1);
        Origin = id.Origin;
        Index = id.Index;
        Value = value;
        Key = key;
        Attempt = attempt;
        Headers = headers;
    }

    /// <summary>The identity, the same at each delivery.</summary>
    public WorkId Id => new(Origin, Index);

    /// <summary>The value: the work to do.</summary>
    public T Value { get; }

    /// <summary>Items with the same key are processed in order, if the engine and the host are configured to do so; <see langword="null"/> for none.</summary>
    public string? Key { get; }

    /// <summary>
    /// The number of this attempt, from 1. A delivery that was neither acknowledged nor returned, because the process died or the connection broke, does not
    /// count.
    /// </summary>
    public int Attempt { get; }

    /// <summary>Data that travels with the item, such as a trace context; <see langword="null"/> for nothing.</summary>
    public IReadOnlyDictionary<string, string>? Headers { get; }

    private string Origin { get; }

    private int Index { get; }

    /// <summary>Returns the same item with another value, such as the result of processing it.</summary>
    /// <typeparam name="TOther">The type of the other value.</typeparam>
    /// <param name="value">The other value.</param>
    /// <returns>An item with the same identity, key, attempt and headers.</returns>
    public WorkItem<TOther> With<TOther>(TOther value) => new(Id, value, Key, Attempt, Headers);

    /// <summary>Returns the same item for its next attempt.</summary>
    /// <returns>An item whose attempt is one higher.</returns>
    public WorkItem<T> Again() => new(Id, Value, Key, Attempt + 1, Headers);

    /// <summary>The same item with a trace context, if it has none.</summary>
    internal WorkItem<T> In(Dictionary<string, string> trace) => new(Id, Value, Key, Attempt, TraceContext.Merge(Headers, trace));
}

/// <summary>
/// The identity of a work item: the message in which it was first published, and its place in that message. It is the same at every delivery, so a receiver
/// that stores identities can detect duplicates.
/// </summary>
/// <param name="Origin">The identity of the message or transaction in which the item was first published. Not empty, and without a slash at the end.</param>
/// <param name="Index">The place in the message, from 0.</param>
public readonly record struct WorkId(string Origin, int Index) : IParsable<WorkId>
{
    /// <summary>Parses the text that <see cref="ToString"/> returns.</summary>
    /// <param name="s">The text: the origin, a slash and the index.</param>
    /// <param name="provider">Not used: the format does not depend on the culture.</param>
    /// <returns>The identity.</returns>
    /// <exception cref="FormatException">The text is not an identity.</exception>
    public static WorkId Parse(string s, IFormatProvider? provider = null) =>
        TryParse(s, provider, out WorkId id) ? id : throw new FormatException($"'{s}' is not the identity of an item of work, such as 0199f3a2/17.");

    /// <inheritdoc cref="TryParse(string?, IFormatProvider?, out WorkId)"/>
    public static bool TryParse([NotNullWhen(true)] string? s, out WorkId result) => TryParse(s, null, out result);

    /// <summary>Parses the text that <see cref="ToString"/> returns.</summary>
    /// <param name="s">The text: the origin, a slash and the index.</param>
    /// <param name="provider">Not used: the format does not depend on the culture.</param>
    /// <param name="result">The identity, if the text is one.</param>
    /// <returns><see langword="true"/> if the text is an identity; otherwise, <see langword="false"/>.</returns>
    public static bool TryParse([NotNullWhen(true)] string? s, IFormatProvider? provider, out WorkId result)
    {
        int slash = s?.LastIndexOf('/') ?? -1;
        if (slash > 0 && int.TryParse(s.AsSpan(slash + 1), NumberStyles.None, CultureInfo.InvariantCulture, out int index))
        {
            result = new WorkId(s![..slash], index);
            return true;
        }

        result = default;
        return false;
    }

    /// <summary>The origin, a slash and the index.</summary>
    /// <returns>The text. It is ASCII if the origin is.</returns>
    public override string ToString() => string.Create(CultureInfo.InvariantCulture, $"{Origin}/{Index}");
}

/// <summary>The trace context of W3C in the headers of items: the publisher's, unless an item has its own.</summary>
internal static class TraceContext
{
    public const string Parent = "traceparent";
    public const string State = "tracestate";

    // The part that W3C requires everybody to pass on. More might make an item too long for its queue.
    private const int MaxState = 512;

    /// <summary>The headers of what is published now; null outside of an activity.</summary>
    public static Dictionary<string, string>? Current() =>
        Activity.Current is { IdFormat: ActivityIdFormat.W3C, Id: { } id } activity ? Of(id, activity.TraceStateString) : null;

    /// <summary>A context as headers.</summary>
    public static Dictionary<string, string> Of(string parent, string? state)
    {
        Dictionary<string, string> context = new(StringComparer.Ordinal) { [Parent] = parent };
        if (state is { Length: > 0 and <= MaxState } && Ascii.IsValid(state))
        {
            context[State] = state;
        }

        return context;
    }

    /// <summary>The headers of an item, with the context if they have none of their own.</summary>
    public static IReadOnlyDictionary<string, string>? Merge(IReadOnlyDictionary<string, string>? own, Dictionary<string, string>? context)
    {
        if (own is null || context is null || own.ContainsKey(Parent))
        {
            return own ?? context;
        }

        Dictionary<string, string> both = new(own, StringComparer.Ordinal);
        foreach ((string name, string value) in context)
        {
            both[name] = value;
        }

        return both;
    }
}

/// <summary>The serializers for common types.</summary>
public static class WorkSerializer
{
    /// <summary>Bytes as they are.</summary>
    public static IWorkSerializer<byte[]> Bytes { get; } = new ByteSerializer();

    /// <summary>Text as UTF-8.</summary>
    public static IWorkSerializer<string> Text { get; } = new TextSerializer();

    /// <summary>Values as JSON, by reflection. Do not use it in programs that are trimmed or compiled ahead of time.</summary>
    /// <typeparam name="T">The type of the values.</typeparam>
    /// <param name="options">The JSON options; <see langword="null"/> for the web defaults.</param>
    /// <returns>A serializer.</returns>
    [RequiresUnreferencedCode("JSON by reflection needs the members of the type. Use the overload with a JsonTypeInfo.")]
    [RequiresDynamicCode("JSON by reflection compiles code while it runs. Use the overload with a JsonTypeInfo.")]
    public static IWorkSerializer<T> Json<T>(JsonSerializerOptions? options = null) =>
        Json((JsonTypeInfo<T>)(options ?? JsonSerializerOptions.Web).GetTypeInfo(typeof(T)));

    /// <summary>Values as JSON.</summary>
    /// <typeparam name="T">The type of the values.</typeparam>
    /// <param name="type">The type metadata from a generated context.</param>
    /// <returns>A serializer.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="type"/> is <see langword="null"/>.</exception>
    public static IWorkSerializer<T> Json<T>(JsonTypeInfo<T> type)
    {
        ArgumentNullException.ThrowIfNull(type);
        return new JsonWorkSerializer<T>(type);
    }

    private sealed class ByteSerializer : IWorkSerializer<byte[]>
    {
        public void Write(byte[] value, IBufferWriter<byte> output) => output.Write(value);

        public byte[] Read(ReadOnlySpan<byte> bytes) => bytes.ToArray();
    }

    private sealed class TextSerializer : IWorkSerializer<string>
    {
        private static readonly UTF8Encoding Strict = new(encoderShouldEmitUTF8Identifier: false, throwOnInvalidBytes: true);

        public void Write(string value, IBufferWriter<byte> output) => Strict.GetBytes(value, output);

        public string Read(ReadOnlySpan<byte> bytes) => Strict.GetString(bytes);
    }

    private sealed class JsonWorkSerializer<T>(JsonTypeInfo<T> type) : IWorkSerializer<T>
    {
        public void Write(T value, IBufferWriter<byte> output)
        {
            using var writer = new Utf8JsonWriter(output, new JsonWriterOptions { SkipValidation = true });
            JsonSerializer.Serialize(writer, value, type);
        }

        // JSON null is a value if the type can be null. Otherwise the converter of the type decides.
        public T Read(ReadOnlySpan<byte> bytes) => JsonSerializer.Deserialize(bytes, type)!;
    }
}

/// <summary>Turns values into bytes and back.</summary>
/// <typeparam name="T">The type of the values.</typeparam>
/// <remarks>Thread-safe.</remarks>
public interface IWorkSerializer<T>
{
    /// <summary>Writes a value.</summary>
    /// <param name="value">The value.</param>
    /// <param name="output">The buffer to write to. Only the bytes of the value are added.</param>
    void Write(T value, IBufferWriter<byte> output);

    /// <summary>Reads a value.</summary>
    /// <param name="bytes">What <see cref="Write"/> wrote. The memory is reused after the call, so the value must not refer to it.</param>
    /// <returns>The value.</returns>
    /// <exception cref="FormatException">The bytes do not represent a value. Any other exception has the same meaning.</exception>
    T Read(ReadOnlySpan<byte> bytes);
}
