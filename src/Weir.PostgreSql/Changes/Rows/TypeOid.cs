namespace Weir.PostgreSql;

/// <summary>The built-in types whose values have a format of their own, or are frequent.</summary>
internal static class TypeOid
{
    public const uint Bool = 16;
    public const uint Bytea = 17;
    public const uint Int8 = 20;
    public const uint Int2 = 21;
    public const uint Int2Vector = 22;
    public const uint Int4 = 23;
    public const uint Text = 25;
    public const uint Oid = 26;
    public const uint OidVector = 30;
    public const uint Json = 114;
    public const uint Float4 = 700;
    public const uint Float8 = 701;
    public const uint TextArray = 1009;
    public const uint Bpchar = 1042;
    public const uint Varchar = 1043;
    public const uint Date = 1082;
    public const uint Time = 1083;
    public const uint Timestamp = 1114;
    public const uint TimestampTz = 1184;
    public const uint Interval = 1186;
    public const uint Numeric = 1700;
    public const uint Uuid = 2950;
    public const uint Jsonb = 3802;

    /// <summary>Types from this OID on were created in the database.</summary>
    public const uint FirstOfDatabase = 16384;

    /// <summary>The type of the elements of a built-in array; 0 for all others.</summary>
    public static uint ElementOf(uint type) => type switch
    {
        1000 => Bool,
        1001 => Bytea,
        1005 => Int2,
        1007 => Int4,
        1016 => Int8,
        1021 => Float4,
        1022 => Float8,
        1028 => Oid,
        1115 => Timestamp,
        1182 => Date,
        1183 => Time,
        1185 => TimestampTz,
        1187 => Interval,
        1231 => Numeric,
        2951 => Uuid,

        // xml, json, name, text, char(n), varchar, jsonb
        143 or 199 or 1003 or TextArray or 1014 or 1015 or 3807 => Text,
        _ => 0,
    };
}
