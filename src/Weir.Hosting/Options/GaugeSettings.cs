using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Options;
using Gauge = Weir.Hosting.SettingReaders<Weir.Hosting.WeirGaugeOptions>;

namespace Weir.Hosting;

/// <summary>Reads the options of gauges from their section of the configuration, and checks them when the host starts.</summary>
internal sealed class GaugeSettings(string gauges, IConfiguration? configuration)
    : IConfigureNamedOptions<WeirGaugeOptions>, IValidateOptions<WeirGaugeOptions>
{
    private static readonly Dictionary<string, Gauge.Reader> Readers = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(WeirGaugeOptions.Interval)] = Gauge.Time(static (o, v) => o.Interval = v),
        [nameof(WeirGaugeOptions.ReadingTimeout)] = Gauge.Time(static (o, v) => o.ReadingTimeout = v),
        [nameof(WeirGaugeOptions.MaxWaiting)] = Gauge.LongWhole(static (o, v) => o.MaxWaiting = v),
        [nameof(WeirGaugeOptions.MaxWaitingMessages)] = Gauge.LongWhole(static (o, v) => o.MaxWaitingMessages = v),
        [nameof(WeirGaugeOptions.MaxOldestAge)] = Gauge.Time(static (o, v) => o.MaxOldestAge = v),
        [nameof(WeirGaugeOptions.MaxDeadLetters)] = Gauge.LongWhole(static (o, v) => o.MaxDeadLetters = v),
        [nameof(WeirGaugeOptions.MaxLag)] = Gauge.Time(static (o, v) => o.MaxLag = v),
        [nameof(WeirGaugeOptions.MaxLagBytes)] = Gauge.LongWhole(static (o, v) => o.MaxLagBytes = v),
        [nameof(WeirGaugeOptions.MaxRetainedBytes)] = Gauge.LongWhole(static (o, v) => o.MaxRetainedBytes = v),
    };

    private string Section => $"Weir:Gauges:{gauges}";

    public void Configure(WeirGaugeOptions options) => Configure(Microsoft.Extensions.Options.Options.DefaultName, options);

    public void Configure(string? name, WeirGaugeOptions options)
    {
        if (name == gauges && configuration is not null
            && Gauge.ReadAll(options, configuration.GetSection(Section), Readers, "gauges") is { } problem)
        {
            throw new OptionsValidationException(gauges, typeof(WeirGaugeOptions), [problem]);
        }
    }

    public ValidateOptionsResult Validate(string? name, WeirGaugeOptions options)
    {
        if (name != gauges)
        {
            return ValidateOptionsResult.Skip;
        }

        WorkGaugeOptions readings = new() { Interval = options.Interval, ReadingTimeout = options.ReadingTimeout };
        string[] problems =
        [
            .. readings.Ranges().Select(time => In(time.IsInRange, time.Name, time.Range, time.Value)).OfType<string>(),
            .. new[]
            {
                NotNegative(options.MaxWaiting, nameof(options.MaxWaiting)),
                NotNegative(options.MaxWaitingMessages, nameof(options.MaxWaitingMessages)),
                Positive(options.MaxOldestAge, nameof(options.MaxOldestAge)),
                NotNegative(options.MaxDeadLetters, nameof(options.MaxDeadLetters)),
                Positive(options.MaxLag, nameof(options.MaxLag)),
                NotNegative(options.MaxLagBytes, nameof(options.MaxLagBytes)),
                NotNegative(options.MaxRetainedBytes, nameof(options.MaxRetainedBytes)),
            }.OfType<string>(),
        ];
        return problems.Length == 0 ? ValidateOptionsResult.Success : ValidateOptionsResult.Fail(problems);
    }

    private string? NotNegative(long? value, string property) => In(value is not < 0, property, "zero or more", value);

    private string? Positive(TimeSpan? value, string property) => In(value is not { } time || time > TimeSpan.Zero, property, "more than zero", value);

    private string? In(bool isAllowed, string property, string allowed, object? value) =>
        OptionRange.Find(isAllowed, value, $"{Section}:{property}", allowed);
}
