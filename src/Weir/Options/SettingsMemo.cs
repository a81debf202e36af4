using Weir.Core.Dispatch;

namespace Weir;

/// <summary>
/// The engine's settings for options, which the runs with these options share. It is no part of the options' value: all of them are equal. A copy of the
/// options copies it too, so it knows whose it is.
/// </summary>
internal struct SettingsMemo : IEquatable<SettingsMemo>
{
    private PumpSettings? _settings;

    /// <summary>The settings that were kept for these options, an error mode and an operator, or null.</summary>
    public readonly PumpSettings? Of(ParallelRunOptions options, ErrorMode errorMode, string operation) =>
        Volatile.Read(in _settings) is { } settings && ReferenceEquals(settings.About, options) && settings.ErrorMode == errorMode
        && settings.Operation == operation
            ? settings
            : null;

    /// <summary>Keeps settings.</summary>
    public void Keep(PumpSettings settings) => Volatile.Write(ref _settings, settings);

    public readonly bool Equals(SettingsMemo other) => true;

    public override readonly bool Equals(object? obj) => obj is SettingsMemo;

    public override readonly int GetHashCode() => 0;
}
