using System.Buffers;

namespace Weir.PostgreSql.Tests.Changes;

/// <summary>For dead letters of changes that nobody reads.</summary>
internal sealed class NoBytes : IWorkSerializer<PostgresChange>
{
    public void Write(PostgresChange value, IBufferWriter<byte> output)
    {
    }

    public PostgresChange Read(ReadOnlySpan<byte> bytes) => throw new FormatException();
}
