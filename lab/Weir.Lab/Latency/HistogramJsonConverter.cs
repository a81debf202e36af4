namespace Weir.Lab.Latency;

/// <summary>Writes histograms as the text of <see cref="HistogramCodec"/>.</summary>
internal sealed class HistogramJsonConverter : JsonConverter<LatencyHistogram>
{
    /// <inheritdoc/>
    public override LatencyHistogram Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options)
    {
        try
        {
            return HistogramCodec.Decode(reader.GetString() ?? "");
        }
        catch (FormatException error)
        {
            throw new JsonException(error.Message, error);
        }
    }

    /// <inheritdoc/>
    public override void Write(Utf8JsonWriter writer, LatencyHistogram value, JsonSerializerOptions options)
    {
        writer.WriteStringValue(HistogramCodec.Encode(value));
    }
}
