using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;
using Worker = Weir.Hosting.SettingReaders<Weir.Hosting.WeirWorkerOptions>;

namespace Weir.Hosting;

/// <summary>
/// Reads the options of a worker from its section of the configuration. Not with a binder, which needs reflection or ignores misspelt keys, and whose
/// messages do not name the allowed values.
/// </summary>
internal sealed class ConfiguredOptions(string worker, IConfiguration? configuration) : IConfigureNamedOptions<WeirWorkerOptions>
{
    private static readonly Dictionary<string, Worker.Reader> Readers = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(WeirWorkerOptions.Runtime)] = Worker.Name<WorkerRuntime>(static (o, v) => o.Runtime = v),
        [nameof(WeirWorkerOptions.MaxConcurrency)] = Worker.Whole(static (o, v) => o.MaxConcurrency = v),
        [nameof(WeirWorkerOptions.KeepKeyOrder)] = Worker.YesOrNo(static (o, v) => o.KeepKeyOrder = v),
        [nameof(WeirWorkerOptions.MaxRetries)] = Worker.Whole(static (o, v) => o.MaxRetries = v),
        [nameof(WeirWorkerOptions.PerItemTimeout)] = Worker.Time(static (o, v) => o.PerItemTimeout = v),
        [nameof(WeirWorkerOptions.MaxAttempts)] = Worker.Whole(static (o, v) => o.MaxAttempts = v),
        [nameof(WeirWorkerOptions.RedeliveryDelays)] = ReadDelays,
        [nameof(WeirWorkerOptions.MaxItemsInFlight)] = Worker.Whole(static (o, v) => o.MaxItemsInFlight = v),
        [nameof(WeirWorkerOptions.MaxItemsPerCall)] = Worker.Whole(static (o, v) => o.MaxItemsPerCall = v),
        [nameof(WeirWorkerOptions.MaxConcurrentCalls)] = Worker.Whole(static (o, v) => o.MaxConcurrentCalls = v),
        [nameof(WeirWorkerOptions.MaxCrashes)] = Worker.Whole(static (o, v) => o.MaxCrashes = v),
        [nameof(WeirWorkerOptions.Acknowledge)] = Worker.Name<AcknowledgePoint>(static (o, v) => o.Acknowledge = v),
        [nameof(WeirWorkerOptions.GracePeriod)] = Worker.Time(static (o, v) => o.GracePeriod = v),
        [nameof(WeirWorkerOptions.SetupAtStart)] = Worker.YesOrNo(static (o, v) => o.SetupAtStart = v),
        [nameof(WeirWorkerOptions.StopAtEnd)] = Worker.YesOrNo(static (o, v) => o.StopAtEnd = v),
        [nameof(WeirWorkerOptions.AbortAtSecondSignal)] = Worker.YesOrNo(static (o, v) => o.AbortAtSecondSignal = v),
        [nameof(WeirWorkerOptions.MaxLag)] = Worker.Time(static (o, v) => o.MaxLag = v),
        [nameof(WeirWorkerOptions.OperationName)] = Worker.Text(static (o, v) => o.OperationName = v),
        [nameof(WeirWorkerOptions.Tags)] = Worker.Group(ReadTags),
        [nameof(WeirWorkerOptions.Policies)] = Worker.Group(ConfiguredPolicies.Read),
    };

    public static string SectionOf(string worker) => $"Weir:Workers:{worker}";

    public void Configure(WeirWorkerOptions options) => Configure(Microsoft.Extensions.Options.Options.DefaultName, options);

    public void Configure(string? name, WeirWorkerOptions options)
    {
        if (name != worker || configuration is null)
        {
            return;
        }

        if (Worker.ReadAll(options, configuration.GetSection(SectionOf(worker)), Readers, "a worker") is { } problem)
        {
            throw new OptionsValidationException(worker, typeof(WeirWorkerOptions), [problem]);
        }
    }

    private static string? ReadDelays(WeirWorkerOptions options, IConfigurationSection setting)
    {
        IEnumerable<string?> given = setting.Value is { } text
            ? text.Split(',', StringSplitOptions.TrimEntries)
            : setting.GetChildren().Select(static c => c.Value);
        string?[] texts = [.. given];
        var delays = new TimeSpan[texts.Length];
        for (int i = 0; i < texts.Length; i++)
        {
            if (!Worker.TryTime(texts[i], out delays[i]))
            {
                return $"{setting.Path} must be times such as 00:00:01 and 00:00:10; one is '{texts[i]}'.";
            }
        }

        options.RedeliveryDelays = delays;
        return null;
    }

    private static string? ReadTags(WeirWorkerOptions options, IConfigurationSection section)
    {
        // Tags from code stay, unless the configuration has the same key.
        Dictionary<string, object?> tags = new(StringComparer.Ordinal);
        foreach ((string key, object? value) in options.Tags ?? [])
        {
            tags[key] = value;
        }

        foreach (IConfigurationSection tag in section.GetChildren())
        {
            if (tag.Value is not { } value)
            {
                return $"{tag.Path} must be a text; it is a section.";
            }

            tags[tag.Key] = value;
        }

        options.Tags = [.. tags];
        return null;
    }
}
