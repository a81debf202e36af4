using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization.Metadata;

namespace Weir.Delivery;

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
