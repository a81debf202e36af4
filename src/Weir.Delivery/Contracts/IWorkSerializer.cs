using System.Buffers;

namespace Weir.Delivery;

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
