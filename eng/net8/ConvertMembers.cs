namespace System;

/// <summary>Hexadecimal digits as .NET 9 has them.</summary>
internal static class ConvertMembers
{
    extension(Convert)
    {
        public static string ToHexStringLower(ReadOnlySpan<byte> bytes) => Convert.ToHexString(bytes).ToLowerInvariant();
    }
}
