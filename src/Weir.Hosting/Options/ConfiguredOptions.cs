using System.Globalization;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;

namespace Weir.Hosting;

/// <summary>
/// Reads the options of a worker from its section of the configuration. By hand and not with a binder: that would need reflection, or ignore misspelt keys, and
/// its messages do not name what is allowed.
/// </summary>
internal sealed class ConfiguredOptions(string worker, IConfiguration? configuration) : IConfigureNamedOptions<WeirWorkerOptions>
{
    private static readonly Dictionary<string, Func<WeirWorkerOptions, IConfigurationSection, string?>> Readers = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(WeirWorkerOptions.Runtime)] = Name<WorkerRuntime>(static (o, v) => o.Runtime = v),
        [nameof(WeirWorkerOptions.MaxConcurrency)] = Whole(static (o, v) => o.MaxConcurrency = v),
        [nameof(WeirWorkerOptions.KeepKeyOrder)] = YesOrNo(static (o, v) => o.KeepKeyOrder = v),
        [nameof(WeirWorkerOptions.MaxRetries)] = Whole(static (o, v) => o.MaxRetries = v),
        [nameof(WeirWorkerOptions.PerItemTimeout)] = Time(static (o, v) => o.PerItemTimeout = v),
        [nameof(WeirWorkerOptions.MaxAttempts)] = Whole(static (o, v) => o.MaxAttempts = v),
        [nameof(WeirWorkerOptions.RedeliveryDelays)] = ReadDelays,
        [nameof(WeirWorkerOptions.MaxItemsInFlight)] = Whole(static (o, v) => o.MaxItemsInFlight = v),
        [nameof(WeirWorkerOptions.MaxItemsPerCall)] = Whole(static (o, v) => o.MaxItemsPerCall = v),
        [nameof(WeirWorkerOptions.MaxConcurrentCalls)] = Whole(static (o, v) => o.MaxConcurrentCalls = v),
        [nameof(WeirWorkerOptions.MaxCrashes)] = Whole(static (o, v) => o.MaxCrashes = v),
        [nameof(WeirWorkerOptions.Acknowledge)] = Name<AcknowledgePoint>(static (o, v) => o.Acknowledge = v),
        [nameof(WeirWorkerOptions.GracePeriod)] = Time(static (o, v) => o.GracePeriod = v),
        [nameof(WeirWorkerOptions.SetupAtStart)] = YesOrNo(static (o, v) => o.SetupAtStart = v),
        [nameof(WeirWorkerOptions.StopAtEnd)] = YesOrNo(static (o, v) => o.StopAtEnd = v),
        [nameof(WeirWorkerOptions.AbortAtSecondSignal)] = YesOrNo(static (o, v) => o.AbortAtSecondSignal = v),
        [nameof(WeirWorkerOptions.MaxLag)] = Time(static (o, v) => o.MaxLag = v),
    };

    private delegate bool TryRead<TValue>(string? text, out TValue value);

    public static string SectionOf(string worker) => $"Weir:Workers:{worker}";

    public void Configure(WeirWorkerOptions options) => Configure(Microsoft.Extensions.Options.Options.DefaultName, options);

    public void Configure(string? name, WeirWorkerOptions options)
    {
        if (name != worker || configuration is null)
        {
            return;
        }

        foreach (IConfigurationSection setting in configuration.GetSection(SectionOf(worker)).GetChildren())
        {
            string? problem = Readers.TryGetValue(setting.Key, out Func<WeirWorkerOptions, IConfigurationSection, string?>? read)
                ? read(options, setting)
                : $"{setting.Path} is no option of a worker; these are: {string.Join(", ", Readers.Keys)}.";
            if (problem is not null)
            {
                throw new OptionsValidationException(worker, typeof(WeirWorkerOptions), [problem]);
            }
        }
    }

    private static Func<WeirWorkerOptions, IConfigurationSection, string?> Whole(Action<WeirWorkerOptions, int> set) =>
        Read(
            (string? text, out int value) => int.TryParse(text, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out value),
            set,
            "a whole number");

    private static Func<WeirWorkerOptions, IConfigurationSection, string?> Time(Action<WeirWorkerOptions, TimeSpan> set) =>
        Read<TimeSpan>(TryTime, set, "a time such as 00:00:30");

    private static Func<WeirWorkerOptions, IConfigurationSection, string?> YesOrNo(Action<WeirWorkerOptions, bool> set) =>
        Read<bool>(bool.TryParse, set, "true or false");

    // The platform also takes numbers for names.
    private static Func<WeirWorkerOptions, IConfigurationSection, string?> Name<TEnum>(Action<WeirWorkerOptions, TEnum> set)
        where TEnum : struct, Enum =>
        Read(
            (string? text, out TEnum value) => Enum.TryParse(text, ignoreCase: true, out value) && Enum.GetNames<TEnum>().Contains(
                text, StringComparer.OrdinalIgnoreCase),
            set,
            string.Join(", ", Enum.GetNames<TEnum>()[..^1]) + " or " + Enum.GetNames<TEnum>()[^1]);

    private static Func<WeirWorkerOptions, IConfigurationSection, string?> Read<TValue>(
        TryRead<TValue> tryRead, Action<WeirWorkerOptions, TValue> set, string allowed) =>
        (options, setting) =>
        {
            if (!tryRead(setting.Value, out TValue value))
            {
                return $"{setting.Path} must be {allowed}; it is '{setting.Value}'.";
            }

            set(options, value);
            return null;
        };

    private static string? ReadDelays(WeirWorkerOptions options, IConfigurationSection setting)
    {
        IEnumerable<string?> given = setting.Value is { } text
            ? text.Split(',', StringSplitOptions.TrimEntries)
            : setting.GetChildren().Select(static c => c.Value);
        string?[] texts = [.. given];
        var delays = new TimeSpan[texts.Length];
        for (int i = 0; i < texts.Length; i++)
        {
            if (!TryTime(texts[i], out delays[i]))
            {
                return $"{setting.Path} must be times such as 00:00:01 and 00:00:10; one is '{texts[i]}'.";
            }
        }

        options.RedeliveryDelays = delays;
        return null;
    }

    // The platform reads a number alone as days.
    private static bool TryTime(string? text, out TimeSpan value)
    {
        value = default;
        return text?.Contains(':', StringComparison.Ordinal) == true && TimeSpan.TryParse(text, CultureInfo.InvariantCulture, out value);
    }
}
