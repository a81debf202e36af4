namespace Weir.PostgreSql;

/// <summary>A replication slot, as the server describes it.</summary>
/// <param name="Plugin">What decodes; null for a physical slot.</param>
/// <param name="Database">The database that it belongs to.</param>
/// <param name="IsTemporary">Whether it ends with the session that created it.</param>
/// <param name="IsActive">Whether somebody reads from it.</param>
/// <param name="WalStatus">Whether the server still has what the slot needs.</param>
/// <param name="Confirmed">The server has given up everything before this position.</param>
internal sealed record SlotState(string? Plugin, string? Database, bool IsTemporary, bool IsActive, string? WalStatus, ulong Confirmed);
