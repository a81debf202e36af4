namespace Weir.PostgreSql;

/// <summary>Names of replication slots.</summary>
internal static class SlotName
{
    public static string Check(string slot)
    {
        ArgumentException.ThrowIfNullOrEmpty(slot);
        return slot.Length <= 63 && slot.All(static c => c is (>= 'a' and <= 'z') or (>= '0' and <= '9') or '_')
            ? slot
            : throw new ArgumentException("slot must have from 1 to 63 of the characters a-z, 0-9 and _: it is the name of a replication slot.", nameof(slot));
    }
}
