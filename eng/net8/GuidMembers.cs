using System.Buffers.Binary;

namespace Weir.Delivery;

/// <summary>Identifiers that begin with the time, as .NET 9 has them.</summary>
internal static class GuidMembers
{
    extension(Guid)
    {
        public static Guid CreateVersion7()
        {
            Span<byte> bytes = stackalloc byte[16];
            Guid.NewGuid().TryWriteBytes(bytes, bigEndian: true, out _);

            // The first 48 bits are milliseconds; then comes the version, and the rest is random. The variant is that of the random one.
            Span<byte> time = stackalloc byte[8];
            BinaryPrimitives.WriteInt64BigEndian(time, TimeProvider.System.GetUtcNow().ToUnixTimeMilliseconds());
            time[2..].CopyTo(bytes);
            bytes[6] = (byte)(0x70 | (bytes[6] & 0x0F));
            return new Guid(bytes, bigEndian: true);
        }
    }
}
